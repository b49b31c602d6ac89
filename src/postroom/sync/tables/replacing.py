"""Ids that a service gives to another message once the first is gone: what was kept under one is dropped, and the
handles of the first lead nowhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from postroom.index.rows import envelopes
from postroom.model.changes import Evidence
from postroom.model.message import Envelope
from postroom.sync.tables import changing, identity


def drop_replaced(connection: sqlite3.Connection, rows: Sequence[Envelope], now: float) -> None:
    """`rows` are as the server lists them now. A draft may be edited, and is the same."""
    kept = {one.ref: one for one in envelopes(connection, [row.ref for row in rows]) if one is not None}
    refs = [row.ref for row in rows if row.ref in kept and not row.draft and _shown(kept[row.ref]) != _shown(row)]
    changing.remove(connection, refs, now)
    for ref in refs:
        connection.execute("DELETE FROM former WHERE ref = ?", (ref,))  # what has that id is not to be taken along
        changing.note_renamed(connection, ref, ref + identity.REPLACED)


def drop_others(connection: sqlite3.Connection, folder: int, evidence: Mapping[int, Evidence], now: float) -> None:
    """Messages in whose place there may be others: they are fetched again, and are the same if their content is."""
    changing.identify(connection)
    rows = connection.execute(
        "SELECT ref, number, size, added_at, identity FROM mirrored JOIN mail USING (ref) WHERE mirrored.folder = ?",
        (folder,),
    ).fetchall()
    others = [
        (ref, known) for ref, number, size, added_at, known in rows if _differs(evidence.get(number), size, added_at)
    ]
    changing.remove(connection, [ref for ref, _ in others], now)
    for ref, known in others:
        if not known:
            changing.note_renamed(connection, ref, ref + identity.REPLACED)


def _differs(evidence: Evidence | None, size: int, added_at: float) -> bool:
    """One that arrived after the mirror had one under its number is another, whatever their sizes."""
    if evidence is None:
        return False
    return evidence.size != size or evidence.arrived is None or evidence.arrived.timestamp() > added_at


def _shown(row: Envelope) -> tuple[object, ...]:
    return row.subject, row.sender.email, row.date
