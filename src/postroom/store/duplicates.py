"""Was the same mail sent a moment ago? Good for a warning, never for a refusal."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable

from postroom.store.clock import Clock
from postroom.store.database import Database

WINDOW_SECONDS = 120.0
_BODY_CHARS = 200


def digest(to: Iterable[str], subject: str, body: str) -> str:
    """SHA-256 over the sorted recipients, the lower-cased subject and the first 200 characters of the body."""
    parts = [sorted(address.casefold() for address in to), subject.lower(), body[:_BODY_CHARS]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Duplicates:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def seen_recently(self, account: str, digest: str, now: float | None = None) -> bool:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT at FROM duplicates WHERE account = ? AND digest = ?", (account, digest)
            ).fetchone()
        return row is not None and (self._clock.wall() if now is None else now) - row["at"] <= WINDOW_SECONDS

    def remember(self, account: str, digest: str, now: float | None = None) -> None:
        with self._database.transaction(durable=False) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO duplicates (account, digest, at) VALUES (?, ?, ?)",
                (account, digest, self._clock.wall() if now is None else now),
            )

    def prune(self, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM duplicates WHERE at < ?", (self._clock.wall() - WINDOW_SECONDS,))
