"""Which content a caller has been shown: a confirmation counts for exactly that, once, and not for long."""

from __future__ import annotations

import sqlite3

from postroom.store.clock import Clock
from postroom.store.database import Database

VALID_SECONDS = 600.0


class Previews:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def remember(self, account: str, content_sha256: str, now: float | None = None) -> None:
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO previews (account, content_sha256, at) VALUES (?, ?, ?)",
                (account, content_sha256, self._clock.wall() if now is None else now),
            )

    def is_valid(self, account: str, content_sha256: str, now: float | None = None) -> bool:
        """Whether `consume` would answer True now."""
        moment = self._clock.wall() if now is None else now
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT 1 FROM previews WHERE account = ? AND content_sha256 = ? AND at BETWEEN ? AND ?",
                (account, content_sha256, moment - VALID_SECONDS, moment),
            ).fetchone()
        return row is not None

    def consume(self, account: str, content_sha256: str, now: float | None = None) -> bool:
        """True once per preview, within 10 minutes of it. A preview from the clock's future does not count."""
        moment = self._clock.wall() if now is None else now
        with self._database.transaction(durable=False) as connection:
            used = connection.execute(
                "DELETE FROM previews WHERE account = ? AND content_sha256 = ? AND at BETWEEN ? AND ?",
                (account, content_sha256, moment - VALID_SECONDS, moment),
            )
            return used.rowcount == 1

    def prune(self, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM previews WHERE at < ?", (self._clock.wall() - VALID_SECONDS,))
