"""The audit: append-only entries, each hashed over the one before, so that a change to any of them shows.

It cannot stop someone who may rewrite the whole file; it makes a quiet change to one line, a line taken out or lines
cut off the end visible to `verify`. A mirror in the vault is a second witness.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postroom.store.audit.entry import AuditEntry, canonical
from postroom.store.audit.mirror import bring_up_to_date
from postroom.store.clock import Clock
from postroom.store.database import Database

_GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class AuditReport:
    """`first_bad` is the number of the first entry that is changed, out of place or missing."""

    entries: int
    ok: bool
    first_bad: int | None


class Audit:
    def __init__(self, database: Database, clock: Clock, mirror: Path | None = None) -> None:
        """`mirror`: the folder that holds one ``<date>.jsonl`` per day, ``vault/Logs/actions``."""
        self._database = database
        self._clock = clock
        self._mirror = mirror

    def append(self, entry: AuditEntry) -> int:
        """Add one entry and answer its number. A mirror that cannot be written now is caught up by a later entry."""
        text = canonical(entry, self._clock.wall())
        with self._database.transaction() as connection:
            seq, previous = _head(connection)
            seq += 1
            digest = _digest(seq, previous, text)
            connection.execute(
                "INSERT INTO audit (seq, entry, prev_hash, hash) VALUES (?, ?, ?, ?)", (seq, text, previous, digest)
            )
            connection.execute("INSERT OR REPLACE INTO audit_head (only, seq, hash) VALUES (1, ?, ?)", (seq, digest))
            if self._mirror is not None:
                bring_up_to_date(connection, self._mirror, seq)
            return seq

    def recent(self, limit: int = 50) -> list[dict[str, Any]]:
        """The last entries, newest first."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT seq, entry FROM audit ORDER BY seq DESC LIMIT ?", (limit,)).fetchall()
        return [{"seq": row["seq"], **json.loads(row["entry"])} for row in rows]

    def mirror_lag(self) -> int:
        """How many entries the mirror lacks; more than 0 means that its folder cannot be written."""
        if self._mirror is None:
            return 0
        with self._database.read() as connection:
            row = connection.execute("SELECT seq FROM audit_mirrors WHERE folder = ?", (str(self._mirror),)).fetchone()
            return 0 if row is None else _head(connection)[0] - int(row["seq"])

    def verify(self) -> AuditReport:
        """Walk the whole chain from its first entry to its recorded end."""
        with self._database.read() as connection:
            connection.execute("BEGIN")  # one snapshot: entries appended meanwhile do not confuse the walk
            try:
                return _walk(connection)
            finally:
                connection.execute("COMMIT")


def _walk(connection: sqlite3.Connection) -> AuditReport:
    last_seq, last_hash = _head(connection)
    entries = connection.execute("SELECT count(*) FROM audit").fetchone()[0]
    seq, previous = 0, _GENESIS
    for row in connection.execute("SELECT seq, entry, prev_hash, hash FROM audit ORDER BY seq"):
        seq += 1
        digest = _digest(seq, previous, row["entry"])
        if (row["seq"], row["prev_hash"], row["hash"]) != (seq, previous, digest):
            return AuditReport(entries, False, seq)
        previous = digest
    if (seq, previous) != (last_seq, last_hash):
        return AuditReport(entries, False, min(seq, last_seq) + 1)
    return AuditReport(entries, True, None)


def _head(connection: sqlite3.Connection) -> tuple[int, str]:
    row = connection.execute("SELECT seq, hash FROM audit_head").fetchone()
    return (0, _GENESIS) if row is None else (row["seq"], row["hash"])


def _digest(seq: int, previous: str, text: str) -> str:
    return hashlib.sha256(f"{seq}\n{previous}\n{text}".encode()).hexdigest()
