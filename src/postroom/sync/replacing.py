"""Ids that a service gives to another message once the first is gone: what was kept under one is dropped, and the
handles of the first lead nowhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from postroom.index.rows import envelopes
from postroom.model.message import Envelope
from postroom.sync import changing

_GONE = " (another message has its id)"


def drop_replaced(connection: sqlite3.Connection, rows: Sequence[Envelope], now: float) -> None:
    """`rows` are as the server lists them now. A draft may be edited, and is the same."""
    kept = {one.ref: one for one in envelopes(connection, [row.ref for row in rows]) if one is not None}
    refs = [row.ref for row in rows if row.ref in kept and not row.draft and _shown(kept[row.ref]) != _shown(row)]
    changing.remove(connection, refs, now)
    for ref in refs:
        connection.execute("DELETE FROM former WHERE ref = ?", (ref,))  # what has that id is not to be taken along
        changing.note_renamed(connection, ref, ref + _GONE)


def _shown(row: Envelope) -> tuple[object, ...]:
    return row.subject, row.sender.email, row.date
