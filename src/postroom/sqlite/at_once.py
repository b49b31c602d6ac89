"""Reading a file on the event loop itself, where that is quicker than handing it to a thread and back.

That is so for little (a page of a folder, a message), as a reader never waits for a writer. A file that is locked all
the same is not waited for (`Database.snapshot`), and one that was slow is read by threads for a while: its disk is, or
nothing of it is in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

SLOW: Final = 0.05  # seconds that one look waited
_PAUSE: Final = 30.0  # seconds without another one


class AtOnce:
    """Of one file. What a look computes does not count: the first one that opens a message loads what that takes."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, worked: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock = clock
        self._worked = worked
        self._slow_until = 0.0

    @property
    def is_advisable(self) -> bool:
        return self._clock() >= self._slow_until

    def timed(self, look: Callable[[], T]) -> T:
        began, worked = self._clock(), self._worked()
        try:
            return look()
        finally:
            ended = self._clock()
            if ended - began - (self._worked() - worked) > SLOW:
                self._slow_until = ended + _PAUSE
