"""Which mailbox an account's name stood for. What is kept by that name must not pass to another mailbox."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import suppress

from postroom.model.address import Address
from postroom.model.errors import PostroomError
from postroom.store.database import Database

_STOPPED = (
    "The account has another address now; this rule was written for another mailbox. Delete it, or save it again."
)
_SHARED = "/"  # a shared mailbox has its owner's name before it
_LATER = "#"  # no account has it in its name


class Mailboxes:
    """What leads to messages (handles, numbers, the journal, plans) is kept by mailbox: for the first one that an
    account's name stood for, by that name, and for each later one by the name with a mark of its own. It is found again
    when the name stands for that mailbox again, and by a process that still runs with the former settings."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: dict[str, str] = {}

    def kept_as(self, account: str) -> str:
        """The account's mailbox in such a table."""
        name, slash, shared = account.partition(_SHARED)
        return self._names.get(name, name) + slash + shared

    def account_of(self, kept_as: str) -> str | None:
        """The account whose mailbox that is; None for one that its name stood for at another time."""
        account = named(kept_as)
        return account if self.kept_as(account) == kept_as else None

    def settle(self, addresses: Mapping[str, str], owners: Mapping[str, str]) -> None:
        """With the address of each account as it is configured now, and what tells its mailbox from others. Where the
        address is another one, whom the old mailbox wrote to is forgotten, and its rules do not run on the new one."""
        wanted = {name: Address(email).key for name, email in addresses.items()}
        with self._database.read() as connection:
            known = dict(map(tuple, connection.execute("SELECT account, address FROM account_addresses")))
            first = _first(connection)
        changed = {name for name, address in wanted.items() if known.get(name, address) != address}
        # A file from before this was noted: the mailbox of now is taken for the first, unless it is known not to be.
        noted = {name: "" if name in changed else owner for name, owner in owners.items()}
        self._recognise(owners, noted | first)
        if known.items() >= wanted.items() and first.keys() >= owners.keys():
            return
        # On a full disk, say, nothing can be sent either.
        with suppress(PostroomError), self._database.transaction() as connection:
            for name in changed:
                _forget(connection, name)
            connection.executemany("INSERT OR REPLACE INTO account_addresses VALUES (?, ?)", wanted.items())
            connection.executemany("INSERT OR IGNORE INTO first_mailboxes VALUES (?, ?)", noted.items())
            self._recognise(owners, _first(connection))

    def _recognise(self, owners: Mapping[str, str], first: Mapping[str, str]) -> None:
        later = {name: owner for name, owner in owners.items() if first[name] != owner}
        self._names = {name: f"{name}{_LATER}{_mark(owner)}" for name, owner in later.items()}


def named(kept_as: str) -> str:
    """The account whose mailbox this is or was."""
    name, slash, shared = kept_as.partition(_SHARED)
    return name.partition(_LATER)[0] + slash + shared


def _mark(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()[:16]


def _first(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(map(tuple, connection.execute("SELECT account, owner FROM first_mailboxes")))


def _forget(connection: sqlite3.Connection, account: str) -> None:
    for table in ("recipients", "list_addresses"):
        connection.execute(f"DELETE FROM {table} WHERE account = ?", (account,))  # noqa: S608 (ours)
    connection.execute("DELETE FROM plans WHERE account = ? AND state != 'done'", (account,))
    connection.execute(
        "UPDATE rules SET enabled = 0, next_run_at = NULL, last_result = ? WHERE account = ?", (_STOPPED, account)
    )
