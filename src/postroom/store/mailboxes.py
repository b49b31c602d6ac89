"""Which mailbox an account's name stood for. What is kept by that name must not pass to another mailbox."""

from __future__ import annotations

from collections.abc import Mapping

from postroom.model.address import Address
from postroom.store.database import Database

_STOPPED = (
    "The account has another address now; this rule was written for another mailbox. Delete it, or save it again."
)


class Mailboxes:
    def __init__(self, database: Database) -> None:
        self._database = database

    def settle(self, accounts: Mapping[str, str]) -> None:
        """With the address of each account as it is configured now. Where it is another one, whom the old mailbox wrote
        to is forgotten, and its rules do not run on the new one."""
        wanted = {name: Address(email).key for name, email in accounts.items()}
        with self._database.read() as connection:
            known = dict(map(tuple, connection.execute("SELECT account, address FROM account_addresses")))
        if all(known.get(name) == address for name, address in wanted.items()):
            return
        with self._database.transaction() as connection:
            for name, address in wanted.items():
                if known.get(name, address) != address:
                    for table in ("recipients", "list_addresses"):
                        connection.execute(f"DELETE FROM {table} WHERE account = ?", (name,))  # noqa: S608 (ours)
                    connection.execute("DELETE FROM plans WHERE account = ? AND state != 'done'", (name,))
                    connection.execute(
                        "UPDATE rules SET enabled = 0, next_run_at = NULL, last_result = ? WHERE account = ?",
                        (_STOPPED, name),
                    )
                connection.execute("INSERT OR REPLACE INTO account_addresses VALUES (?, ?)", (name, address))
