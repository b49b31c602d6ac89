"""Messages of one second: pages of any size, put together, are the whole in its prescribed order."""

from __future__ import annotations

import random

import pytest

from postroom.index.keys import COUNTER_BITS
from postroom.index.ties import Found, put_right

SECONDS = [1, 1, 1, 2, 3, 3, 3, 3, 3, 4, 5, 5]


def found() -> list[Found]:
    """Newest first, as the index has them."""
    keys = [(second << COUNTER_BITS) + place for place, second in enumerate(SECONDS)]
    return [(key, f"m{place:02}") for place, key in enumerate(keys)][::-1]


def prescribed() -> dict[str, float]:
    chance = random.Random(3)
    return {ref: chance.random() for _, ref in found()}


@pytest.mark.parametrize("size", range(1, 14))
def test_pages_make_up_the_whole(size: int) -> None:
    everything, ranks = found(), prescribed()
    read: list[int] = []

    def around(lowest: int, end: int) -> list[Found]:
        read.append(lowest >> COUNTER_BITS)
        return [one for one in everything if lowest <= one[0] < end]

    pages: list[str] = []
    for offset in range(0, len(everything), size):
        before = min(offset, 1)
        window = everything[offset - before : offset + size + 1]
        pages += put_right(window, before, min(before + size, len(window)), around, lambda _: ranks)

    assert pages == [ref for key, ref in sorted(everything, key=lambda one: (-(one[0] >> COUNTER_BITS), ranks[one[1]]))]
    assert 2 not in read, "a message that is alone in its second needs nothing more"


def test_more_of_one_second_than_can_be_read_stay_as_they_are() -> None:
    assert put_right(found()[:3], 0, 2, lambda *_: [], lambda _: prescribed()) == ["m11", "m10"]
    assert put_right(found()[3:8], 1, 4, lambda *_: [], lambda _: prescribed()) == ["m07", "m06", "m05"]
