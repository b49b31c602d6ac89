"""A flood of one kind of log line is reduced to a few lines and a count.

A kind is a logger, a place or event, and a level. Lines beyond its limit within a minute are counted, and the count
is logged when the minute is over, in a line of the same kind with `suppressed`. Other kinds are not affected.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TypeAlias

MINUTE = 60.0
# Warnings and errors: sixty of a kind are enough to notice. Below that level, the lines record what was done: an agent
# makes dozens of calls in a minute, and a thousand only when something has gone wrong.
WARNINGS_A_MINUTE = 60
OTHERS_A_MINUTE = 1000
MAX_KINDS = 1000  # about a hundred places log at all

Kind: TypeAlias = tuple[str, str, str, int, int]  # logger, event, file, line, level
Later: TypeAlias = Callable[[float, Callable[[], None]], None]


@dataclass(slots=True)
class _Window:
    began: float
    said: int = 0
    suppressed: int = 0


class FloodHandler(logging.StreamHandler[IO[str]]):
    """`events` are the messages that name a kind; the text of all others is ignored."""

    def __init__(
        self,
        stream: IO[str],
        events: frozenset[str],
        *,
        clock: Callable[[], float] = time.monotonic,
        later: Later | None = None,
    ) -> None:
        super().__init__(stream)
        self._events = events
        self._clock = clock
        self._later = later or _in_a_thread
        self._windows: dict[Kind, _Window] = {}  # in the order in which they began

    def emit(self, record: logging.LogRecord) -> None:
        """Under the handler's lock, as logging calls it."""
        self._say_what_is_over()
        window = self._window(self._kind(record))
        if window.said < (WARNINGS_A_MINUTE if record.levelno >= logging.WARNING else OTHERS_A_MINUTE):
            window.said += 1
            super().emit(record)
            return
        if not window.suppressed:
            self._later(window.began + MINUTE - self._clock(), self._tick)
        window.suppressed += 1

    def close(self) -> None:
        """Log the counts before the process ends."""
        with self._lock_held():
            self._say_what_is_over(at=float("inf"))
        super().close()

    def _tick(self) -> None:
        with self._lock_held():
            self._say_what_is_over()

    def _lock_held(self) -> threading.RLock:
        assert self.lock is not None
        return self.lock

    def _kind(self, record: logging.LogRecord) -> Kind:
        event = record.msg if isinstance(record.msg, str) and record.msg in self._events else ""
        return record.name, event, record.pathname, record.lineno, record.levelno

    def _window(self, kind: Kind) -> _Window:
        if kind not in self._windows and len(self._windows) >= MAX_KINDS:
            self._end(next(iter(self._windows)))
        return self._windows.setdefault(kind, _Window(self._clock()))

    def _say_what_is_over(self, at: float | None = None) -> None:
        now = self._clock() if at is None else at
        for kind in [kind for kind, window in self._windows.items() if now - window.began >= MINUTE]:
            self._end(kind)

    def _end(self, kind: Kind) -> None:
        suppressed = self._windows.pop(kind).suppressed
        if suppressed:
            name, event, path, line, level = kind
            summary = logging.LogRecord(name, level, path, line, event, None, None)
            summary.suppressed = suppressed
            super().emit(summary)


def _in_a_thread(seconds: float, call: Callable[[], None]) -> None:
    timer = threading.Timer(max(0.0, seconds), call)
    timer.daemon = True  # close() logs the count instead
    timer.start()
