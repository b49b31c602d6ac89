"""Messages of one second in the order that somebody else has them in.

Keys order them as they were added. A mirror does not add them as they arrived, and its pages have to fit those of its
server. So a page is put right after it was found: only where messages share a second, and the rest of that second is
read only where the page begins or ends within it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from postroom.index.keys import COUNTER_BITS

Found = tuple[int, str]  # key and ref
Rank = Callable[[Sequence[str]], Mapping[str, Any]]  # by ref, what sorts those of one second
Around = Callable[[int, int], Sequence[Found]]  # all that were to be found with keys from the one up to the other


def share_a_second(keys: Sequence[int]) -> bool:
    return len({key >> COUNTER_BITS for key in keys}) < len(keys)


def put_right(found: Sequence[Found], start: int, stop: int, around: Around, rank: Rank) -> list[str]:
    """The refs from `start` to `stop`. `found` goes on by one on either side, where there is more."""
    refs: list[str] = []
    for second, group in groupby(found[start:stop], _second):
        members = list(group)
        first = start + len(refs)
        beyond = [found[place] for place in (first - 1, first + len(members)) if 0 <= place < len(found)]
        is_cut = any(_second(one) == second for one in beyond)
        if is_cut:
            whole = [ref for _, ref in around(second << COUNTER_BITS, (second + 1) << COUNTER_BITS)]
            refs += _part(whole, [ref for _, ref in members], rank)
        else:
            refs += _sorted([ref for _, ref in members], rank)
    return refs


def _part(whole: Sequence[str], members: Sequence[str], rank: Rank) -> Sequence[str]:
    """As many as `members`, in their place."""
    if members[0] not in whole:
        return members
    before = whole.index(members[0])
    return _sorted(whole, rank)[before : before + len(members)]


def _sorted(refs: Sequence[str], rank: Rank) -> Sequence[str]:
    if len(refs) < 2:
        return refs
    ranks = rank(refs)
    return sorted(refs, key=ranks.__getitem__)


def _second(found: Found) -> int:
    return found[0] >> COUNTER_BITS
