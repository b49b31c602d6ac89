"""What an account has previewed, sent a moment ago, and written to before.

A preview allows one confirmation of exactly its content, for ten minutes by both clocks and within one boot, so that no
setting of the wall clock brings an old one back. A recent duplicate is a warning, never a refusal. Known recipients
tell a correspondent from an address that nobody ever chose.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from typing import Literal

from postroom.model.address import Address
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
            return self.take(connection, account, content_sha256)

    def take(self, connection: sqlite3.Connection, account: str, content_sha256: str) -> bool:
        """`consume` within a transaction of the caller's."""
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


Table = Literal["recipients", "list_addresses"]


class Recipients:
    """Addresses are kept in the spelling that two spellings of one mailbox share, and no two mailboxes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, account: str, emails: Iterable[str]) -> set[str]:
        """Those of `emails`, as they were given, that were remembered before."""
        return self._among("recipients", account, emails)

    def remember(self, account: str, emails: Iterable[str]) -> None:
        self._add("recipients", account, emails)

    def lists(self, account: str, emails: Iterable[str]) -> set[str]:
        """Those of `emails` that were noted as addresses for leaving a list."""
        return self._among("list_addresses", account, emails)

    def note_lists(self, account: str, emails: Iterable[str]) -> None:
        self._add("list_addresses", account, emails)

    def _among(self, table: Table, account: str, emails: Iterable[str]) -> set[str]:
        given = {email: Address(email).key for email in emails}
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT email FROM {table} WHERE account = ? AND email IN (SELECT value FROM json_each(?))",  # noqa: S608
                (account, json.dumps(list(given.values()))),
            )
            found = {row["email"] for row in rows}
        return {email for email, key in given.items() if key in found}

    def _add(self, table: Table, account: str, emails: Iterable[str]) -> None:
        rows = [(account, Address(email).key) for email in emails]
        with self._database.transaction(durable=False) as connection:
            connection.executemany(f"INSERT OR IGNORE INTO {table} (account, email) VALUES (?, ?)", rows)  # noqa: S608
