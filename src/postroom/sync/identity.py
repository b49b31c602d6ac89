"""Whether a message that appeared is one that was seen before in another place.

The server's own id of a message's content tells where it has one (RFC 8474). Elsewhere a message keeps its Message-ID,
its size and its time of arrival when it is moved or copied, or when its folder is numbered anew. Where a server gives
it another time of arrival, its own date tells: enough for a handle to follow, though it is then fetched again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from postroom.index.rows import chunks, marks
from postroom.index.words import storable
from postroom.model.message import Envelope

KEPT_SECONDS = 30 * 24 * 3600.0  # how long a message that disappeared may reappear


@dataclass(frozen=True, slots=True)
class Former:
    ref: str
    identity: str
    message_id: str
    size: int
    date: str


_COLUMNS = "identity, message_id, size, date"


def key(identity: str, message_id: str, size: int, arrived: datetime | None) -> str:
    """Empty where nothing tells."""
    if identity:
        return f"id {identity}"
    if not message_id or arrived is None:
        return ""
    return f"{arrived.timestamp():.0f} {size} {storable(message_id)}"


def describe(connection: sqlite3.Connection, refs: Iterable[str]) -> list[Former]:
    """Those of the refs that are in the index."""
    found: list[Former] = []
    for chunk in chunks(refs):
        rows = connection.execute(
            f"SELECT mail.ref, {_COLUMNS} FROM mail JOIN mirrored ON mirrored.ref = mail.ref"  # noqa: S608
            f" WHERE mail.ref IN ({marks(chunk)})",
            chunk,
        )
        found += [Former(*row) for row in rows]
    return found


def remember(connection: sqlite3.Connection, formers: Iterable[Former], now: float) -> None:
    connection.executemany(
        f"INSERT OR REPLACE INTO former (ref, {_COLUMNS}, gone_at) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
        [
            (one.ref, one.identity, one.message_id, one.size, one.date, now)
            for one in formers
            if one.identity or one.message_id
        ],
    )


def forget_old(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("DELETE FROM former WHERE gone_at < ?", (now - KEPT_SECONDS,))


def find_again(
    connection: sqlite3.Connection,
    appeared: Iterable[tuple[str, Envelope]],
    found: Callable[[sqlite3.Connection, str, str], None],
) -> None:
    """Calls `found` with the old and the new ref of each that had disappeared; it is then forgotten."""
    if connection.execute("SELECT 1 FROM former LIMIT 1").fetchone() is None:
        return
    for own, envelope in appeared:
        date = envelope.date.isoformat() if envelope.date else ""
        row = connection.execute(
            "SELECT ref FROM former WHERE identity != '' AND identity = ?"
            " UNION ALL SELECT ref FROM former WHERE message_id != '' AND message_id = ? AND size = ? AND date = ?"
            " LIMIT 1",
            (own, storable(envelope.message_id), envelope.size, date),
        ).fetchone()
        if row is not None:
            connection.execute("DELETE FROM former WHERE ref = ?", row)
            found(connection, row[0], envelope.ref)


def appeared_since(connection: sqlite3.Connection, former: Former, since: float) -> str:
    """The ref of the one message with that content that was first seen since then; empty if there is none or several.

    One that was there before is a copy, not where this message went.
    """
    if former.identity:
        found = _refs(connection, "mirrored.identity = ?", (former.identity,), former.ref, since)
        if found:
            return found[0] if len(found) == 1 else ""
    if not former.message_id:
        return ""
    values = (former.message_id, former.size, former.date)
    found = _refs(connection, "message_id = ? AND size = ? AND date = ?", values, former.ref, since)
    return found[0] if len(found) == 1 else ""


def _refs(connection: sqlite3.Connection, sql: str, values: tuple[object, ...], own: str, since: float) -> list[str]:
    rows = connection.execute(
        f"SELECT mail.ref FROM mirrored JOIN mail ON mail.ref = mirrored.ref WHERE {sql}"  # noqa: S608
        " AND mail.ref != ? AND added_at >= ? LIMIT 2",
        (*values, own, since),
    )
    return [ref for (ref,) in rows]
