"""How long a server is waited for where the mirror can answer in its place.

A server that hangs, or is behind a firewall that drops packets, keeps a call waiting for as long as the settings allow;
so does one that searches a large folder. Whether it responds to a new connection tells one from the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from postroom.providers.at_hand import Greeted

T = TypeVar("T")

_DOUBT = 2.0  # seconds for an answer until it is asked whether anybody is there; then twice as long each time
_PATIENCE = 5.0  # seconds for a response to that


async def unless_silent(
    server: Greeted | None, call: Callable[[], Awaitable[T]], instead: Callable[[], Awaitable[T | None]]
) -> T:
    """The result of `call`. Where its server does not respond any more, that of `instead`, unless that is None: then it
    is waited for all the same."""
    if server is None:
        return await call()
    answers: list[T] = []
    failures: list[Exception] = []  # a task group would wrap them

    async def listen() -> None:
        await _wait_for_silence(server)
        found = await instead()
        if found is not None:
            answers.append(found)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        try:
            answers.append(await call())
        except Exception as failure:  # noqa: BLE001 - raised below
            failures.append(failure)
        tasks.cancel_scope.cancel()
    if answers:
        return answers[0]
    raise failures[0]


async def _wait_for_silence(server: Greeted) -> None:
    pause = _DOUBT
    while True:
        await anyio.sleep(pause)
        with anyio.move_on_after(_PATIENCE) as waited:
            await server.greeting()
        if waited.cancelled_caught:
            return
        pause *= 2
