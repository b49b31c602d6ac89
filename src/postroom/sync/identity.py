"""Whether a message that appeared is one that was seen before in another place.

The server's own id of a message's content tells where it has one (RFC 8474). Elsewhere a message keeps its Message-ID,
its size and its time of arrival when it is moved or copied, or when its folder is numbered anew. Message-ID and size
alone are enough for a handle to follow, since nothing else is taken over from the old place then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from postroom.index.rows import chunks, marks
from postroom.index.words import storable

KEPT_SECONDS = 30 * 24 * 3600.0  # how long a message that disappeared may reappear


@dataclass(frozen=True, slots=True)
class Former:
    ref: str
    identity: str
    message_id: str
    size: int


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
            "SELECT mail.ref, identity, message_id, size FROM mail JOIN mirrored ON mirrored.ref = mail.ref"
            f" WHERE mail.ref IN ({marks(chunk)})",  # noqa: S608
            chunk,
        )
        found += [Former(*row) for row in rows]
    return found


def remember(connection: sqlite3.Connection, formers: Iterable[Former], now: float) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO former (ref, identity, message_id, size, gone_at) VALUES (?, ?, ?, ?, ?)",
        [(one.ref, one.identity, one.message_id, one.size, now) for one in formers if one.identity or one.message_id],
    )


def forget_old(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("DELETE FROM former WHERE gone_at < ?", (now - KEPT_SECONDS,))


def formers(connection: sqlite3.Connection) -> list[Former]:
    return [Former(*row) for row in connection.execute("SELECT ref, identity, message_id, size FROM former")]


def appeared_since(connection: sqlite3.Connection, former: Former, since: float) -> str:
    """The ref of the one message with that content that was first seen since then; empty if there is none or several.

    One that was there before is a copy, not where this message went.
    """
    if former.identity:
        sql, values = "mirrored.identity = ?", (former.identity,)
        found = _refs(connection, sql, values, former.ref, since)
        if found:
            return found[0] if len(found) == 1 else ""
    if not former.message_id:
        return ""
    found = _refs(connection, "message_id = ? AND size = ?", (former.message_id, former.size), former.ref, since)
    return found[0] if len(found) == 1 else ""


def _refs(connection: sqlite3.Connection, sql: str, values: tuple[object, ...], own: str, since: float) -> list[str]:
    rows = connection.execute(
        f"SELECT mail.ref FROM mirrored JOIN mail ON mail.ref = mirrored.ref WHERE {sql}"  # noqa: S608
        " AND mail.ref != ? AND added_at >= ? LIMIT 2",
        (*values, own, since),
    )
    return [ref for (ref,) in rows]
