"""A mirror's file from the event loop: every access in a worker thread, so that a locked file blocks nobody else."""

from __future__ import annotations

from collections.abc import Callable
from sqlite3 import Connection
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import anyio.to_thread

from postroom.model.errors import Conflict
from postroom.sync.file import space

if TYPE_CHECKING:
    from postroom.sync.file.mirror import Mirror

P = ParamSpec("P")
R = TypeVar("R")


class Replaced(Conflict):
    """Somebody took the file away, or put another in its place."""

    def __init__(self, mirror: Mirror) -> None:
        super().__init__(
            f"The file of the mirror {mirror.path.stem} was replaced while it was being filled. Filling starts again."
        )


class Access:
    """To one file: what was read from another says nothing about it."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self._opened = 0

    async def read(self, verb: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        def run() -> R:
            with self.mirror.snapshot() as connection:
                self._require_same()
                return verb(connection, *args, **kwargs)

        return await anyio.to_thread.run_sync(run)

    async def write(self, verb: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        def run() -> R:
            with self.mirror.transaction() as connection:
                self._require_same()
                return verb(connection, *args, **kwargs)

        return await anyio.to_thread.run_sync(run)

    async def write_messages(
        self, size: int, verb: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """`write`, of so many bytes of text and content, where the disk has room for them."""
        space.check(self.mirror.path, space.GROWTH * size)
        return await self.write(verb, *args, **kwargs)

    def _require_same(self) -> None:
        self._opened = self._opened or self.mirror.opened
        if self._opened != self.mirror.opened:
            raise Replaced(self.mirror)
