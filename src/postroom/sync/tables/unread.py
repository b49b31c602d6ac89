"""Messages of which the mirror has only what the server lists, though it should have them whole: the server did not
give them out. Perhaps it does now."""

from __future__ import annotations

import sqlite3

from postroom.sync.file.limits import IS_DUE, Limits
from postroom.sync.file.status import fact, note_fact

_TRIED_AT = "unread_tried_at"
_AGAIN = 3600.0  # seconds between two tries
_AT_ONCE = 2  # those over which the server fails again take it some seconds each


def due(connection: sqlite3.Connection, limits: Limits, now: float) -> list[str]:
    """The refs of some, whose turn it is now; any, since it may fail over the same ones every time. None while
    everything is compared."""
    if fact(connection, IS_DUE) or limits.mode == "headers":
        return []
    if 0 <= now - float(fact(connection, _TRIED_AT) or 0) < _AGAIN:
        return []
    note_fact(connection, _TRIED_AT, str(now))
    rows = connection.execute(
        "SELECT ref FROM mirrored JOIN mail USING (ref) WHERE identity = '' AND size <= ?"
        " AND NOT EXISTS (SELECT 1 FROM content WHERE content.id = mirrored.id) ORDER BY random() LIMIT ?",
        (limits.max_bytes, _AT_ONCE),
    )
    return [ref for (ref,) in rows]
