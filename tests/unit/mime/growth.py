"""How the cost of something grows with its input.

Costs within `re` or a library in C cannot be counted from outside, so processor time is taken, and only ever compared
with processor time of the same run: what costs no more than 27 times as much for eight times as much input (three
doublings, each less than threefold) is called linear; the square would cost 64 times as much. Each cost is the least
of several runs, a small constant keeps the clock's grain out of it, and a verdict against something has to be
repeated: whatever else the machine does can only make costs larger, and not again and again at the same place.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

MORE = 8
_MOST = 27.0
_GRAIN = 500_000  # nanoseconds
_TRIES = 3


def grows_too_fast(cost: Callable[[int], object], size: int) -> float:
    """0 for what is linear; else how many times as much eight times the size costs."""
    ratio = 0.0
    if _taken(cost, MORE * size) <= (_MOST - 1) * _GRAIN:
        return 0.0  # whatever the smaller size costs
    for runs in range(1, _TRIES + 1):
        small = min(_taken(cost, size) for _ in range(2 * runs + 1))
        ratio = (_taken(cost, MORE * size) + _GRAIN) / (small + _GRAIN)
        if ratio <= _MOST:
            return 0.0
    return ratio


def _taken(cost: Callable[[int], object], size: int) -> int:
    gc.disable()
    try:
        start = time.thread_time_ns()
        cost(size)
        return time.thread_time_ns() - start
    finally:
        gc.enable()
