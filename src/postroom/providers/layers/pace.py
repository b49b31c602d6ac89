"""A token bucket: how much may be spent per second, and how much of it at once."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """A bucket of `burst` that fills by `per_second`. What is spent is reserved before waiting for it, so that
    parallel callers queue up instead of colliding."""

    def __init__(self, per_second: float, burst: float = 1, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._spacing = 1 / per_second
        self._burst = max(1.0, burst)
        self._clock = clock
        self._due = 0.0  # when the next one would start at an even pace
        self._held_until = 0.0

    def wait_for(self, amount: float = 1) -> float:
        """Seconds until this amount may be spent."""
        now = self._clock()
        due = max(self._due, now) + (min(amount, self._burst) - self._burst) * self._spacing
        return max(0.0, due - now, self._held_until - now)

    def spend(self, amount: float = 1) -> float:
        """Reserves it; returns how many seconds to wait before using it."""
        wait = self.wait_for(amount)
        self._due = max(self._due, self._clock()) + amount * self._spacing
        return wait

    def hold(self, seconds: float) -> None:
        """Nothing more for this long, as the server asked."""
        self._held_until = max(self._held_until, self._clock() + seconds)
