"""How many requests are worked on at once. Beyond that they wait, and what would wait for long is turned away.

One event loop does the work: a hundred calls at once are done no sooner than one after the other, but each of them
takes as long as all. A call that waits for a mail server or a person costs nothing, though, so while the loop is calm
more than `at_once` are let in. What has begun is never turned away.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

WAIT_SECONDS = 0.75
RETRY_SECONDS = 1
TICK_SECONDS = 0.02
CALM_SECONDS = 0.005  # a loop that is this late has work for all its time
LET_IN = 4  # with each tick


class Busy(Exception):
    """Turned away before anything was begun."""


class Admission:
    """Waiting callers take turns, so that one with many requests does not keep the others out."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once  # 0: no limit
        self._running = 0
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()
        self._is_ticking = False
        self._tasks: TaskGroup
        self.turned_away = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Busy if none comes within `WAIT_SECONDS`."""
        if self._at_once and (self._running >= self._at_once or self._waiting):
            await self._wait(caller)
        else:
            self._running += 1
        try:
            yield
        finally:
            self._end()

    async def _wait(self, caller: str) -> None:
        called = anyio.Event()
        self._waiting.setdefault(caller, deque()).append(called)
        if not self._is_ticking:
            self._is_ticking = True
            self._tasks.start_soon(self._tick)
        try:
            with anyio.move_on_after(WAIT_SECONDS):
                await called.wait()
        except BaseException:  # the client is gone, and keeps neither its place nor a turn it was just given
            self._end() if called.is_set() else self._leave(caller, called)
            raise
        if not called.is_set():
            self._leave(caller, called)
            self.turned_away += 1
            raise Busy

    def _end(self) -> None:
        self._running -= 1
        if self._running < self._at_once:
            self._next()

    def _next(self) -> None:
        """The turn of whoever waits, one caller after the other."""
        if not self._waiting:
            return
        caller, line = self._waiting.popitem(last=False)
        self._running += 1
        line.popleft().set()
        if line:
            self._waiting[caller] = line

    def _leave(self, caller: str, called: anyio.Event) -> None:
        line = self._waiting[caller]
        line.remove(called)
        if not line:
            del self._waiting[caller]

    async def _tick(self) -> None:
        while self._waiting:
            due = time.monotonic() + TICK_SECONDS
            await anyio.sleep(TICK_SECONDS)
            if time.monotonic() - due < CALM_SECONDS:
                for _ in range(LET_IN):
                    self._next()
        self._is_ticking = False
