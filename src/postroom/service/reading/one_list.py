"""Several accounts as one list, newest first.

Each keeps its own order, which need not be that of the dates that are shown: Gmail lists messages as they arrived, and
a sender may write any date. What comes first then depends on nothing but what comes first in each account, so pages
neither skip nor repeat a message.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from postroom.service.views import EmailRow

_NEXT = 4  # rows that tell whether one is dated long before its place
AHEAD = 2 * _NEXT  # rows of each account that have to be known beyond those that are shown


def in_one_list(lists: Sequence[Sequence[EmailRow]]) -> list[EmailRow]:
    merged = heapq.merge(*(_placed(rows) for rows in lists), key=lambda placed: -placed[0])
    return [row for _, row in merged]


def moment_of(iso: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(iso).timestamp() if iso else 0.0


def _placed(rows: Sequence[EmailRow]) -> list[tuple[float, EmailRow]]:
    """With the moment at which each is in its turn. One that most of those after it are newer than would hold them
    back behind what all other accounts have: it goes with the next that is in its place."""
    moments = [moment_of(row.date) for row in rows]
    placed = []
    for place, row in enumerate(rows):
        following = range(place, min(place + _NEXT + 1, len(rows)))
        placed.append((next((moments[one] for one in following if not _is_early(moments, one)), moments[place]), row))
    return placed


def _is_early(moments: Sequence[float], place: int) -> bool:
    following = moments[place + 1 : place + 1 + _NEXT]
    return sum(moment > moments[place] for moment in following) * 2 > len(following)
