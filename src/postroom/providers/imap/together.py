"""Several calls at once, failing as one of them failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from postroom.model.errors import PostroomError


async def together(calls: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """The pool keeps to its number of connections. The first failure is raised bare, when all have ended."""
    failures: list[PostroomError] = []

    async def run(call: Callable[[], Awaitable[None]]) -> None:
        try:
            await call()
        except PostroomError as error:
            failures.append(error)

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(run, call)
    if failures:
        raise failures[0]
