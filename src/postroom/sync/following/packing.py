"""Moves messages from the spool of a first fill into the mirror's file, compressed, compresses their words there, and
notes who they are. Each step is a transaction of its own, so it may be interrupted at any time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from postroom.index import writing
from postroom.sync.file import space, spool
from postroom.sync.file.contents import raw_content
from postroom.sync.tables import changing, identity

_STEP, _STEP_BYTES = 200, 8 * 2**20


def forget_unknown(connection: sqlite3.Connection, path: Path) -> None:
    """Before a run: otherwise a spool would grow with every one that is killed, or cannot write to the mirror."""
    (last,) = connection.execute("SELECT max(place) FROM spooled").fetchone()  # a place begins with its start
    spool.cut(path, last)


class _Spooled(NamedTuple):
    number: int
    place: bytes
    ref: str
    identity: str


def pack_some(connection: sqlite3.Connection, path: Path, now: float) -> bool:
    """Whether there were any left. Until there are none, the spool is as large as before."""
    some = _next(connection)
    if some:
        space.check(path, _STEP_BYTES)
    connection.executemany("DELETE FROM spooled WHERE id = ?", [(one.number,) for one in some])
    packed: list[_Spooled] = []
    lost: list[int] = []
    identified: list[tuple[int, str, str]] = []
    for one, raw in zip(some, spool.read_each(path, [one.place for one in some]), strict=True):
        if raw is None:
            lost.append(one.number)
            continue
        content = raw_content(raw)
        connection.execute(
            "INSERT INTO content (id, form, content) VALUES (?, ?, ?)", (one.number, content.form, content.content)
        )
        packed.append(one)
        if one.identity == identity.PENDING:
            identified.append((one.number, one.ref, identity.of_all_bytes(raw)))
    writing.pack_words(connection, [one.ref for one in packed])
    changing.note_identified(connection, identified)
    _fetch_again(connection, lost, now)
    return bool(some)


def _next(connection: sqlite3.Connection) -> list[_Spooled]:
    rows = connection.execute(
        "SELECT id, place, ref, identity FROM spooled JOIN mirrored USING (id) ORDER BY id LIMIT ?", (_STEP,)
    ).fetchall()
    held = accumulate([spool.length_at(place) for _, place, *_ in rows], initial=0)
    return [_Spooled(*row) for row, before in zip(rows, held, strict=False) if before < _STEP_BYTES]


def _fetch_again(connection: sqlite3.Connection, lost: Sequence[int], now: float) -> None:
    """After a power cut the mirror's file may know of messages whose bytes were not written. Their folders are filled
    again from there on; what is still there is not fetched twice."""
    for number in lost:
        row = connection.execute("SELECT ref, folder, number FROM mirrored WHERE id = ?", (number,)).fetchone()
        if row is not None:
            ref, folder, place = row
            changing.remove(connection, [ref], now)
            connection.execute(
                "UPDATE mirrored_folder SET low = max(low, ?), is_filled = 0 WHERE number = ?", (place + 1, folder)
            )
