"""Messages whose content may have changed under the same ref: drafts, and what was one when it was read. Graph sends a
draft under the ref that it had, and others may edit it before."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from postroom.index.rows import envelopes
from postroom.index.words import storable
from postroom.model.message import Envelope


def revised(connection: sqlite3.Connection, rows: Sequence[Envelope], *, is_reported: bool) -> set[str]:
    """The refs of those in the index that are to be fetched again. `rows` are as the server lists them now;
    `is_reported` where it tells what changed, so that few are listed again, and a draft for a reason."""
    kept = envelopes(connection, [row.ref for row in rows])
    return {
        row.ref for row, was in zip(rows, kept, strict=True) if was is not None and _may_differ(was, row, is_reported)
    }


def _may_differ(was: Envelope, row: Envelope, is_reported: bool) -> bool:
    """The draft's mark that is kept is that of its content: it changes only together with it."""
    if was.draft != row.draft or was.subject != storable(row.subject):
        return True
    return row.draft and (is_reported or (was.snippet, was.size) != (storable(row.snippet), row.size))
