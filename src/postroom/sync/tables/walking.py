"""How far the walks through a listing have come (see `by_listing`), and what they say about the folders."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence, Sized
from dataclasses import dataclass

from postroom.sync.file.limits import IS_DUE
from postroom.sync.file.status import fact, note_answer, note_fact, was_changed_since
from postroom.sync.tables.places import Place

CURSOR, WALK, OUTLINE, WALKED_AT = "cursor", "walk", "outline", "walked_at"
IS_MIDWAY = "is_midway"  # there are more pages of changes after the cursor, as of when the first one was read
FROM_NOTHING = "from_nothing"  # everything in the mirror was seen or reported since the cursor that it began with

_PUT_OFF = "put_off"  # the refs of messages that are to be asked for in the next round
_SAMPLES = "samples"  # those of them that stand for many that the server said are gone
_DOUBTED = 60.0  # seconds for which a message is asked for in every round after the server said that it is gone


@dataclass(frozen=True, slots=True)
class Doubts:
    """What a server told of messages: those that are there, those of which it tells nothing, and of those that are gone
    the ones to be asked for again, of which the `samples` stand for others."""

    found: Collection[str]
    failed: Collection[str]
    gone: Sequence[str]
    samples: Sequence[str]


def next_walk(connection: sqlite3.Connection) -> int:
    walk = int(fact(connection, WALK) or 0) + 1
    note_fact(connection, WALK, str(walk))
    return walk


def unseen(connection: sqlite3.Connection, walk: int) -> list[str]:
    return [ref for (ref,) in connection.execute("SELECT ref FROM mirrored WHERE walk < ?", (walk,))]


def confirmed_at(connection: sqlite3.Connection) -> float | None:
    """Since when a message that is missed now may have got another ref: what was there before is a copy of it."""
    sql = "SELECT min(as_of) FROM mirrored_folder WHERE NOT is_left_out AND NOT is_gone"
    moment: float | None = connection.execute(sql).fetchone()[0]
    return moment


def reach_down(connection: sqlite3.Connection, place: Place, since: int) -> None:
    """What comes to that part of the folder from now on is reported as changed: the cursor is older than the walk."""
    if not fact(connection, FROM_NOTHING):
        return
    connection.execute(
        "UPDATE mirrored_folder SET low = min(coalesce(low, ?1), ?1) WHERE number = ?2 AND NOT is_filled",
        (since, place.number),
    )


def compare_from(connection: sqlite3.Connection, cursor: str) -> None:
    """Of messages that are there already nobody knows whether they still exist, until the walk has seen them."""
    is_empty = connection.execute("SELECT 1 FROM mirrored LIMIT 1").fetchone() is None
    note_fact(connection, FROM_NOTHING, "1" if is_empty else "")
    connection.execute("UPDATE mirrored_folder SET low = NULL, as_of = NULL WHERE NOT is_filled")
    note_fact(connection, CURSOR, cursor)
    note_fact(connection, IS_MIDWAY, "")
    note_due(connection)


def note_due(connection: sqlite3.Connection) -> None:
    """Another number each time: a comparison that was begun before does not count."""
    note_fact(connection, IS_DUE, str(int(fact(connection, IS_DUE) or 0) + 1))


def filled(connection: sqlite3.Connection, due: str, low: int, began: float, now: float) -> None:
    """What was changed through us since it began may be here as it was before. Where nothing reports that, all is
    compared once more."""
    if fact(connection, IS_DUE) != due:
        return
    if was_changed_since(connection, began):
        note_fact(connection, OUTLINE, "")
    connection.execute("UPDATE mirrored_folder SET is_filled = 1, low = ? WHERE NOT is_left_out", (low,))
    note_fact(connection, IS_DUE, "")
    note_fact(connection, WALKED_AT, str(now))


def confirm(connection: sqlite3.Connection, asked_at: float, low: int) -> None:
    """Not while a comparison is due, only after which the mirror is as the server was; of the first one, those parts
    that it has been through. New folders have nothing yet that was not reported as changed."""
    note_answer(connection, asked_at)
    if fact(connection, IS_DUE):
        connection.execute(
            "UPDATE mirrored_folder SET as_of = ? WHERE low IS NOT NULL AND NOT is_filled AND NOT is_left_out",
            (asked_at,),
        )
        return
    connection.execute(
        "UPDATE mirrored_folder SET as_of = ?, is_filled = 1, low = iif(is_filled, low, ?) WHERE NOT is_left_out",
        (asked_at, low),
    )


def those_put_off(connection: sqlite3.Connection) -> dict[str, float]:
    """With when that was."""
    found: dict[str, float] | list[str] = json.loads(fact(connection, _PUT_OFF) or "{}")
    return found if isinstance(found, dict) else dict.fromkeys(found, 0.0)  # by an earlier version


def put_off(connection: sqlite3.Connection, asked: Sequence[str], doubts: Doubts, now: float) -> None:
    """To the next round, of those that were asked for; no others any longer. Where one is found that stands for others,
    nobody knows how many of these are there as well: everything is compared."""
    before, samples = those_put_off(connection), set(json.loads(fact(connection, _SAMPLES) or "[]"))
    if not samples.isdisjoint(doubts.found):
        note_due(connection)
    since = {ref: before.get(ref, now) for ref in doubts.gone}
    gone = {ref: moment for ref, moment in since.items() if 0 <= now - moment < _DOUBTED}
    left = {ref: moment for ref, moment in before.items() if ref not in asked}
    after = left | gone | dict.fromkeys(doubts.failed, now)
    _note(connection, _PUT_OFF, after, before)
    _note(connection, _SAMPLES, sorted((samples | {*doubts.samples}) & after.keys()), sorted(samples))


def _note(connection: sqlite3.Connection, name: str, value: Sized, before: Sized) -> None:
    if value != before:
        note_fact(connection, name, json.dumps(value) if value else "")
