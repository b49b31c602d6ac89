"""Searches for words at a server whose mirror does not have everything yet: few at a time, and no longer than needed.

A server without an index of its own reads every message for a word, at the cost of the fill that would answer in
milliseconds, and a search for each connection leaves none for listing and reading. So they take turns. Whoever waits,
for a turn or for the server, gets the mirror's answer as soon as it has one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import anyio

from postroom.model.errors import PostroomError

T = TypeVar("T")

_AT_ONCE = 1  # of an account
_EVERY = 1.0  # seconds until the mirror is looked at again


class WordSearches:
    """Of one account. `look` is at what the mirror has, `answer` makes an answer of that, with the server's help."""

    def __init__(self) -> None:
        self._turns = anyio.Semaphore(_AT_ONCE)

    async def run(
        self,
        look: Callable[[], Awaitable[Any]],
        answer: Callable[[Any], Awaitable[T]],
        is_enough: Callable[[Any], bool],
    ) -> T:
        """When its turn has come, or as soon as the mirror has enough; what still runs then is cancelled."""
        answers: list[T] = []
        failures: list[Exception] = []  # a task group would wrap them

        async def keep_looking() -> None:
            while not answers:
                await anyio.sleep(_EVERY)
                found = await look()
                if is_enough(found):
                    with suppress(PostroomError):  # whoever has the turn is told
                        answers.append(await answer(found))
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_looking)
            try:
                async with self._turns:
                    answers.append(await answer(await look()))
            except Exception as failure:  # noqa: BLE001 - raised below
                failures.append(failure)
            tasks.cancel_scope.cancel()
        if answers:
            return answers[0]
        raise failures[0]
