"""Numbers of messages within their folder, for providers that have none: counted upwards, never given to a second
message."""

from __future__ import annotations

import json
from collections.abc import Sequence

from postroom.store.database import Database


class Numbers:
    def __init__(self, database: Database) -> None:
        self._database = database

    def issue(self, account: str, folder: str, refs: Sequence[str]) -> list[int]:
        """One number per ref, in order; the same ref always gets the same one in the same folder."""
        known = self._known(account, folder, refs)
        if not known.keys() >= set(refs):
            known = self._completed(account, folder, refs)
        return [known[ref] for ref in refs]

    def resolve(self, account: str, folder: str, number: int) -> str | None:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT ref FROM numbers WHERE account = ? AND folder = ? AND number = ?", (account, folder, number)
            ).fetchone()
        return row["ref"] if row is not None else None

    def _completed(self, account: str, folder: str, refs: Sequence[str]) -> dict[str, int]:
        """On disk when it returns: a number that a power cut took back would be given to another message. The oldest of
        a page comes last in it and is counted first, so that numbers grow with time."""
        with self._database.transaction() as connection:
            for ref in dict.fromkeys(reversed(refs)):
                connection.execute(
                    "INSERT OR IGNORE INTO numbers (account, folder, number, ref)"
                    " SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3 FROM numbers WHERE account = ?1 AND folder = ?2",
                    (account, folder, ref),
                )
        return self._known(account, folder, refs)

    def _known(self, account: str, folder: str, refs: Sequence[str]) -> dict[str, int]:
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT ref, number FROM numbers WHERE account = ? AND folder = ?"
                " AND ref IN (SELECT value FROM json_each(?))",
                (account, folder, json.dumps(list(refs))),
            ).fetchall()
        return {row["ref"]: row["number"] for row in rows}
