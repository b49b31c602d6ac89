"""Several times in a list: short, with their common UTC offset given once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache


def side_by_side(moments: Sequence[str]) -> tuple[str, list[str]]:
    """The offset that all of them have, and each as ``2026-11-16 12:24``. Where offsets differ, as on the two sides of
    a change of the clocks, there is none in common and each has its own behind it. An empty moment stays empty.
    """
    shown = [_to_the_minute(each) if each else "" for each in moments]
    offsets = {each[16:] for each in shown if each}
    if len(offsets) != 1:
        return "", shown
    return offsets.pop(), [each[:16] for each in shown]


@lru_cache(maxsize=1024)  # a page asks twice, and the next call for the same messages again
def _to_the_minute(moment: str) -> str:
    return datetime.fromisoformat(moment).isoformat(" ", "minutes")
