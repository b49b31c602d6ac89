"""How many requests one client may make: a bucket each, filled at the allowed rate, that holds ten seconds' worth."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

BURST_SECONDS = 10.0
_REMEMBERED = 10_000  # clients; whoever came first is forgotten first, and then has a full bucket again


class RequestRate:
    """`per_minute` 0: no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._holds = max(1.0, self._per_second * BURST_SECONDS)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    def seconds_to_wait(self, name: str) -> float:
        """0: the request is counted and may go on. Otherwise the seconds after which the next one may."""
        if not self._per_second:
            return 0.0
        now = self._clock()
        left, at = self._buckets.pop(name, (self._holds, now))
        left = min(self._holds, left + (now - at) * self._per_second)
        allowed = left >= 1.0
        self._buckets[name] = (left - 1.0 if allowed else left, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self._per_second
