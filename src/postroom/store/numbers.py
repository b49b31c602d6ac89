"""Numbers of messages within their folder, for providers that have none: counted upwards, never given to a second
message."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from postroom.store.database import Database
from postroom.store.mailboxes import Mailboxes, named


class Numbers:
    """Kept by mailbox (see `Mailboxes`)."""

    def __init__(self, database: Database, mailboxes: Mailboxes | None = None) -> None:
        self._database = database
        self._mailboxes = mailboxes or Mailboxes(database)

    def issue(self, account: str, folder: str, refs: Sequence[str]) -> list[int]:
        """One number per ref, in order; the same ref always gets the same one in the same folder."""
        mailbox = self._mailboxes.kept_as(account)
        known = self._known(mailbox, folder, refs)
        if not known.keys() >= set(refs):
            known = self._completed(mailbox, folder, refs)
        return [known[ref] for ref in refs]

    def resolve(self, account: str, folder: str, number: int) -> str | None:
        mailbox = self._mailboxes.kept_as(account)
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT ref FROM numbers WHERE account = ? AND folder = ? AND number = ?", (mailbox, folder, number)
            ).fetchone()
        return row["ref"] if row is not None else None

    def _completed(self, mailbox: str, folder: str, refs: Sequence[str]) -> dict[str, int]:
        """On disk when it returns: a number that a power cut took back would be given to another message. The oldest of
        a page comes last in it and is counted first, so that numbers grow with time."""
        with self._database.transaction() as connection:
            taken = _taken_by_others(connection, mailbox)
            for ref in dict.fromkeys(reversed(refs)):
                connection.execute(
                    "INSERT OR IGNORE INTO numbers (account, folder, number, ref)"
                    " SELECT ?1, ?2, max(coalesce(max(number), 0), ?4) + 1, ?3 FROM numbers"
                    " WHERE account = ?1 AND folder = ?2",
                    (mailbox, folder, ref, taken),
                )
        return self._known(mailbox, folder, refs)

    def _known(self, mailbox: str, folder: str, refs: Sequence[str]) -> dict[str, int]:
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT ref, number FROM numbers WHERE account = ? AND folder = ?"
                " AND ref IN (SELECT value FROM json_each(?))",
                (mailbox, folder, json.dumps(list(refs))),
            ).fetchall()
        return {row["ref"]: row["number"] for row in rows}


def _taken_by_others(connection: sqlite3.Connection, mailbox: str) -> int:
    """The highest number in any other mailbox that the account's name stood for. In any folder: the inbox, say, has
    another ref there."""
    first, name = named(mailbox), named(mailbox).partition("/")[0]
    row = connection.execute(
        "SELECT max(number) FROM numbers WHERE (account = ? OR account > ? AND account < ?) AND account != ?",
        (first if first != mailbox else None, f"{name}#", f"{name}$", mailbox),
    ).fetchone()
    return row[0] or 0
