"""While a folder is being filled: what the mirror has of an answer, and the rest from the server, as one page.

A folder is filled from its newest message downwards, so what is missing is all below one number, and the server is
asked for that part alone. Both halves are taken from their heads, in one order (`Hit.place`): a page depends only on as
many of each as it reaches down, so pages neither overlap nor leave anything out.

A server without an index of its own reads every message for a word. Where the mirror's half fills the page, it is asked
only for what is dated no earlier than that page ends: seldom anything, since dates follow the order of arrival, but
they need not. The total is then unknown.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from postroom.index.search import newest
from postroom.model.changes import Hits, Rest
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import Query, Text
from postroom.sync.answering import ordering
from postroom.sync.answering.coverage import Coverage, coverage_of_folders, folders_concerned
from postroom.sync.answering.trust import Trust


@dataclass(frozen=True, slots=True)
class Half:
    """What the mirror has, down to as many hits as are `wanted`, and which parts of folders it does not have.
    `coverage` is that of the folders it has begun. `is_bounded`: only as much of the rest is asked for as may come
    before the last of these hits. `lacks`: the server refuses folders of which parts are missing, too."""

    mine: Hits
    rest: tuple[Rest, ...]
    coverage: Coverage
    leaves_out: bool
    wanted: int
    is_bounded: bool
    lacks: bool = False


def is_enough(found: Page[Envelope] | Half | None) -> bool:
    """For an answer for which no server has to read all of its messages."""
    return isinstance(found, Page) or (found is not None and found.is_bounded)


def half_of(connection: sqlite3.Connection, trust: Trust, query: Query, wanted: int) -> Half | None:
    """None where nothing of it is there, or not to be trusted, or it cannot be told what is missing."""
    concerned = folders_concerned(connection, query)
    if not concerned:
        return None
    begun, rest, lacks = _divided(connection, trust, concerned)
    coverage = coverage_of_folders(connection, begun)
    if rest is None or not trust.accepts(coverage, whole=False):
        return None
    refs, total = newest(connection, query, wanted, partial(ordering.ranks, connection))
    mine = Hits(ordering.hits(connection, refs), total)
    leaves_out = coverage_of_folders(connection, concerned).leaves_out
    is_bounded = len(mine.hits) >= wanted and any(isinstance(leaf, Text) for leaf in query.leaves())
    if is_bounded:
        rest = [replace(part, since=mine.hits[-1].date) for part in rest]
    return Half(mine, tuple(rest), coverage, leaves_out, wanted, is_bounded, lacks)


def _divided(
    connection: sqlite3.Connection, trust: Trust, refs: Collection[str]
) -> tuple[set[str], list[Rest] | None, bool]:
    """The folders that are begun, and what is missing. None where messages are there that the fill has not reached
    (a folder was numbered anew, and they were recognised): they would be found twice. And whether some of what is
    missing need not be asked for: the server refused those folders just now, and there are others."""
    rows = connection.execute(
        "SELECT ref, epoch, low, is_filled, refused_at,"
        " (SELECT min(mirrored.number) FROM mirrored WHERE folder = folder.id)"
        " FROM folder JOIN mirrored_folder ON mirrored_folder.number = folder.id WHERE NOT is_left_out"
    )
    here = [row for row in rows if row[0] in refs]
    begun = {ref for ref, _, low, *_ in here if low is not None}
    refused = {ref for ref, *_, refused_at, _ in here if refused_at is not None and trust.counts(_moment(refused_at))}
    if len(refused) == len(here):
        refused.clear()
    rest: list[Rest] = []
    is_clear, lacks = True, False
    for ref, epoch, low, is_filled, _, lowest in here:
        if not is_filled:
            is_clear = is_clear and (lowest is None or (low is not None and lowest >= low))
            lacks = lacks or ref in refused
            rest += [] if ref in refused else [Rest(ref, epoch, low)]
    return begun, rest if is_clear else None, lacks


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def merged(half: Half, rest: Hits, *, limit: int, offset: int) -> tuple[list[str], int | None, bool]:
    """The refs of one page, the total where it is known, and whether more follow."""
    both = heapq.merge(half.mine.hits, rest.hits, key=lambda hit: hit.place)
    refs = [hit.ref for hit in islice(both, offset, offset + limit + 1)]
    total = None if half.is_bounded else _sum(half.mine.total, rest.total)
    return refs[:limit], total, len(refs) > limit


def _sum(*totals: int | None) -> int | None:
    return None if None in totals else sum(total or 0 for total in totals)
