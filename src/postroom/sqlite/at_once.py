"""Reading a file on the event loop itself, where that is quicker than handing it to a thread and back.

That is so for little (a page of a folder, a message), as a reader never waits for a writer. A file that is locked all
the same is not waited for (`Database.snapshot`), and one that was slow is read by threads for a while: its disk is, or
nothing of it is in memory.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

SLOW: Final = 0.05  # seconds that one look waited
_PAUSE: Final = 30.0  # seconds without another one
_OF_THREAD: Final = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)  # some systems only know of processes


class Usage(Protocol):
    """What the system counts: processor time, and how often something was waited for."""

    @property
    def ru_utime(self) -> float: ...
    @property
    def ru_stime(self) -> float: ...
    @property
    def ru_nvcsw(self) -> int: ...


class AtOnce:
    """Of one file. What a look computes does not count: the first one that opens a message loads what that takes. Nor
    does its turn on a busy processor, for which a thread would have to wait as well."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        usage: Callable[[], Usage] | None = None,
    ) -> None:
        self._clock = clock
        self._usage = usage or partial(resource.getrusage, _OF_THREAD)
        self._slow_until = 0.0

    @property
    def is_advisable(self) -> bool:
        return self._clock() >= self._slow_until

    def timed(self, look: Callable[[], T]) -> T:
        began, before = self._clock(), self._usage()
        try:
            return look()
        finally:
            ended = self._clock()
            if ended - began > SLOW and _waited(before, self._usage(), ended - began) > SLOW:
                self._slow_until = ended + _PAUSE


def _waited(before: Usage, after: Usage, seconds: float) -> float:
    """How many of these seconds, at most."""
    if after.ru_nvcsw == before.ru_nvcsw:
        return 0.0
    return seconds - (after.ru_utime - before.ru_utime) - (after.ru_stime - before.ru_stime)
