"""A mirror's file from the event loop: every access in a worker thread, so that a locked file blocks nobody else."""

from __future__ import annotations

from collections.abc import Callable
from sqlite3 import Connection
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from postroom.sync.mirror import Mirror

P = ParamSpec("P")
R = TypeVar("R")


class Access:
    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror

    async def read(self, verb: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        def run() -> R:
            with self.mirror.snapshot() as connection:
                return verb(connection, *args, **kwargs)

        return await anyio.to_thread.run_sync(run)

    async def write(self, verb: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        def run() -> R:
            with self.mirror.transaction() as connection:
                return verb(connection, *args, **kwargs)

        return await anyio.to_thread.run_sync(run)
