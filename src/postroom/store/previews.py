"""Which content a caller has been shown: a confirmation counts for exactly that, once, and not for long.

Ten minutes by both clocks and within one boot, so that no setting of the wall clock brings an old preview back.
"""

from __future__ import annotations

import sqlite3

from postroom.store.clock import Clock
from postroom.store.database import Database

VALID_SECONDS = 600.0
_VALID = "boot_id = ? AND boottime BETWEEN ? AND ? AND at BETWEEN ? AND ?"


class Previews:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def remember(self, account: str, content_sha256: str) -> None:
        now = self._clock.now()
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO previews (account, content_sha256, at, boottime, boot_id)"
                " VALUES (?, ?, ?, ?, ?)",
                (account, content_sha256, now.wall, now.boottime, now.boot_id),
            )

    def is_valid(self, account: str, content_sha256: str) -> bool:
        """Whether `consume` would answer True now."""
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT 1 FROM previews WHERE account = ? AND content_sha256 = ? AND {_VALID}",  # noqa: S608 (ours)
                (account, content_sha256, *self._bounds()),
            ).fetchone()
        return row is not None

    def consume(self, account: str, content_sha256: str) -> bool:
        """True once per preview, within 10 minutes of it. A preview from a clock's future does not count."""
        with self._database.transaction(durable=False) as connection:
            used = connection.execute(
                f"DELETE FROM previews WHERE account = ? AND content_sha256 = ? AND {_VALID}",  # noqa: S608 (ours)
                (account, content_sha256, *self._bounds()),
            )
            return used.rowcount == 1

    def prune(self, connection: sqlite3.Connection) -> None:
        """What does not count now never will, save for a clock set back by mistake and on again: no loss."""
        connection.execute(f"DELETE FROM previews WHERE NOT ({_VALID})", self._bounds())  # noqa: S608 (ours)

    def _bounds(self) -> tuple[str, float, float, float, float]:
        now = self._clock.now()
        return now.boot_id, now.boottime - VALID_SECONDS, now.boottime, now.wall - VALID_SECONDS, now.wall
