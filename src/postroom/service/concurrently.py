"""Several accounts asked side by side: one that is slow keeps no other waiting, one that fails fails alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from postroom.model.errors import PostroomError

T = TypeVar("T")


async def answers_of(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T | PostroomError]:
    """In order, each with its result or its error."""
    answers: dict[int, T | PostroomError] = {}

    async def run(place: int, call: Callable[[], Awaitable[T]]) -> None:
        try:
            answers[place] = await call()
        except PostroomError as error:
            answers[place] = error

    async with anyio.create_task_group() as tasks:
        for place, call in enumerate(calls):
            tasks.start_soon(run, place, call)
    return [answers[place] for place in range(len(calls))]
