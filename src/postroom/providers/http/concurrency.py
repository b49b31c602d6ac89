"""Several requests at once; the client's quota limits how many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from postroom.model.errors import PostroomError

T = TypeVar("T")


async def settled(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T | PostroomError]:
    """In order, each with its result or its error."""
    found: dict[int, T | PostroomError] = {}

    async def run(place: int, call: Callable[[], Awaitable[T]]) -> None:
        try:
            found[place] = await call()
        except PostroomError as error:
            found[place] = error

    if len(calls) > 1:
        async with anyio.create_task_group() as group:
            for place, call in enumerate(calls):
                group.start_soon(run, place, call)
    elif calls:
        await run(0, calls[0])
    return [found[place] for place in range(len(calls))]


async def all_of(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """The first failure is raised, after all have ended."""
    results: list[T] = []
    for one in await settled(calls):
        if isinstance(one, PostroomError):
            raise one
        results.append(one)
    return results
