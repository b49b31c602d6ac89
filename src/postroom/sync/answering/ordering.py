"""The order of messages of one second. Where they are numbered within folders it is that of the server's pages
(`model.changes.Hit.place`); elsewhere only fractions of the second are known, where the provider has them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime

from postroom.index.rows import chunks, marks
from postroom.model.changes import Hit

_PLACES = """SELECT mail.ref, mail.date, folder.ref, mirrored.number FROM mail
    JOIN mirrored ON mirrored.ref = mail.ref JOIN folder ON folder.id = mail.folder"""
_UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


def ranks(connection: sqlite3.Connection, refs: Sequence[str]) -> dict[str, tuple[float, str, int]]:
    return {hit.ref: hit.place for hit in hits(connection, refs)}


def hits(connection: sqlite3.Connection, refs: Sequence[str]) -> list[Hit]:
    """In the order of `refs`."""
    found: dict[str, Hit] = {}
    for chunk in chunks(refs):
        rows = connection.execute(f"{_PLACES} WHERE mail.ref IN ({marks(chunk)})", chunk)
        found |= {ref: Hit(ref, _moment(date), folder, number) for ref, date, folder, number in rows}
    return [found[ref] for ref in refs]


def _moment(date: str) -> datetime:
    return datetime.fromisoformat(date) if date else _UNDATED
