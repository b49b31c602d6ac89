"""Messages of which the mirror has only what the server lists, though it should have them whole: the server did not
give them out. Perhaps it does now. Until then no search for words finds them, as it does not find those that are larger
than the settings allow.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from postroom.sqlite.database import remembered
from postroom.sync.file.limits import IS_DUE, Limits
from postroom.sync.file.status import IS_BARE, fact, note_fact

_TRIED_AT = "unread_tried_at"
_AGAIN = 3600.0  # seconds between two tries
_AT_ONCE = 2  # those over which the server fails again take it some seconds each


def folders_without_words(connection: sqlite3.Connection) -> set[str]:
    """The refs of those that have some, of any size."""
    rows = connection.execute(
        f"""WITH bare AS (SELECT mail.id, mail.folder FROM mirrored JOIN mail USING (ref) WHERE {IS_BARE})
            SELECT ref FROM folder WHERE id IN
            (SELECT folder FROM bare UNION SELECT mail_folder.folder FROM mail_folder JOIN bare ON mail = bare.id)"""  # noqa: S608
    )
    return {ref for (ref,) in rows}


def not_given_out(connection: sqlite3.Connection, refs: Sequence[str], limits: Limits) -> tuple[str, ...]:
    """Those of which only what a list shows is known, though they are not too large."""
    if limits.mode != "full" or not remembered(connection, folders_without_words):
        return ()
    rows = connection.execute(
        f"SELECT ref FROM mirrored JOIN mail USING (ref) WHERE {IS_BARE} AND size <= ?"  # noqa: S608
        " AND ref IN (SELECT value FROM json_each(?))",
        (limits.max_bytes, json.dumps(list(refs))),
    )
    return tuple(ref for (ref,) in rows)


def due(connection: sqlite3.Connection, limits: Limits, now: float) -> list[str]:
    """The refs of some, whose turn it is now; any, since it may fail over the same ones every time. None while
    everything is compared."""
    if fact(connection, IS_DUE) or limits.mode == "headers":
        return []
    if 0 <= now - float(fact(connection, _TRIED_AT) or 0) < _AGAIN:
        return []
    note_fact(connection, _TRIED_AT, str(now))
    rows = connection.execute(
        f"SELECT ref FROM mirrored JOIN mail USING (ref) WHERE {IS_BARE} AND size <= ? ORDER BY random() LIMIT ?",  # noqa: S608
        (limits.max_bytes, _AT_ONCE),
    )
    return [ref for (ref,) in rows]
