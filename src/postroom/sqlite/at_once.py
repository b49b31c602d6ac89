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

SLOW: Final = 0.05  # seconds of one look
_PAUSE: Final = 30.0  # seconds without another one


class AtOnce:
    """Of one file."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._slow_until = 0.0

    @property
    def is_advisable(self) -> bool:
        return self._clock() >= self._slow_until

    def timed(self, look: Callable[[], T]) -> T:
        began = self._clock()
        try:
            return look()
        finally:
            ended = self._clock()
            if ended - began > SLOW:
                self._slow_until = ended + _PAUSE
