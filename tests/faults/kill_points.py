"""Places to die: before everything that outlives a process, and after every commit. For the child of `victim` only.

What happens between two such places leaves no trace, so dying there is the same as dying at the next one.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from typing import Any

from postroom.providers.http import api
from postroom.providers.local.transport import LocalTransport

_LASTING = ("UPDATE outbox SET", "COMMIT")  # what else a transaction does vanishes with it all the same
_FILE_EVENTS = ("os.rename", "os.mkdir", "os.remove")
Tick = Callable[[], None]


class Countdown:
    """Ends this process, without goodbye, at the n-th tick; 0 only counts."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.passed = 0

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def install(tick: Tick, *, around_requests: bool = False) -> None:
    """Every database statement that writes, every file made, moved, removed or synced, and the provider call; or, for
    a provider at the other end of a line, each request that changes something, and what is known after each commit."""
    if around_requests:
        _watch_requests(tick)
        _watch_databases(tick, ())
        return
    _watch_databases(tick, _LASTING)
    _watch_files(tick)
    submit = LocalTransport._submit

    def submitted(self: LocalTransport, request: Any) -> Any:
        tick()
        outcome = submit(self, request)
        tick()
        return outcome

    LocalTransport._submit = submitted  # type: ignore[method-assign]


def _watch_requests(tick: Tick) -> None:
    """Before a request that changes something, and when its response is there."""
    exchange = api.exchange

    async def exchanged(client: Any, call: Any, **more: Any) -> Any:
        if call.writes:
            tick()
        answer = await exchange(client, call, **more)
        if call.writes:
            tick()
        return answer

    api.exchange = exchanged


def _watch_databases(tick: Tick, before: tuple[str, ...]) -> None:
    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql.startswith(before):
                tick()
            cursor = super().execute(sql, *parameters)
            if sql == "COMMIT":
                tick()
            return cursor

    connect = sqlite3.connect

    def watched(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        return connect(*args, **{**kwargs, "factory": Watched})

    sqlite3.connect = watched  # type: ignore[assignment]


def _watch_files(tick: Tick) -> None:
    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        if event in _FILE_EVENTS or writes:
            tick()

    fsync, mknod = os.fsync, os.mknod  # of which no event tells

    def synced(descriptor: int) -> None:
        tick()
        fsync(descriptor)

    def made(path: Any, mode: int) -> None:
        tick()
        mknod(path, mode)

    os.fsync, os.mknod = synced, made  # type: ignore[assignment]
    sys.addaudithook(heard)
