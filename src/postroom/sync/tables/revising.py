"""Messages that are to be fetched again: their content may have changed under the same ref (drafts, and what was one
when it was read: Graph sends a draft under the ref that it had, and others may edit it before), or could not be
read."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from postroom.index.rows import chunks, envelopes, marks
from postroom.index.words import storable
from postroom.model.message import Envelope
from postroom.sync.file.limits import Limits


def revised(
    connection: sqlite3.Connection,
    rows: Sequence[Envelope],
    names: Collection[str],
    limits: Limits,
    *,
    is_reported: bool,
) -> tuple[set[str], list[Envelope]]:
    """Of those in the index: the refs of which are to be fetched again, and the others that have other marks now or
    are in other folders of these names. `rows` are as the server lists them now; `is_reported` where it tells what
    changed, so that few are listed again, and a draft for a reason."""
    again = _not_read(connection, [row.ref for row in rows if row.size <= limits.max_bytes], limits)
    moved: list[Envelope] = []
    for row, was in zip(rows, envelopes(connection, [row.ref for row in rows]), strict=True):
        if was is not None and _may_differ(was, row, is_reported):
            again.add(row.ref)
        elif was is not None and row.ref not in again and _state(was, names) != _state(row, names):
            moved.append(row)
    return again, moved


def _not_read(connection: sqlite3.Connection, refs: Sequence[str], limits: Limits) -> set[str]:
    """Those of which there is only what a list shows."""
    if limits.mode == "headers":
        return set()
    found: set[str] = set()
    for chunk in chunks(refs):
        rows = connection.execute(
            f"SELECT ref FROM mirrored LEFT JOIN content USING (id) WHERE ref IN ({marks(chunk)})"  # noqa: S608
            " AND content.id IS NULL",
            chunk,
        )
        found.update(ref for (ref,) in rows)
    return found


def _state(row: Envelope, names: Collection[str]) -> tuple[object, ...]:
    folders = [name for name in row.folders if name in names]
    marks = row.unread, row.starred, row.answered, row.forwarded, frozenset(row.labels)
    return *folders[:1], frozenset(folders), marks


def _may_differ(was: Envelope, row: Envelope, is_reported: bool) -> bool:
    """The draft's mark that is kept is that of its content: it changes only together with it."""
    if was.draft != row.draft or was.subject != storable(row.subject):
        return True
    return row.draft and (is_reported or (was.snippet, was.size) != (storable(row.snippet), row.size))
