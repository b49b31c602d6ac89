"""Whoever waits for the server because a mirror is still being filled is told how far that is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from postroom.sync.file.mirror import Mirror

T = TypeVar("T")
OnFilling = Callable[[str, int, int], Awaitable[None]]  # account, messages in its mirror, messages on its server

_EVERY = 1.0  # seconds

_on_filling: ContextVar[OnFilling | None] = ContextVar("on_filling", default=None)


@contextmanager
def told_to(report: OnFilling) -> Iterator[None]:
    """Of every mirror that is not complete, for as long as something within waits for its server."""
    before = _on_filling.set(report)
    try:
        yield
    finally:
        _on_filling.reset(before)


async def telling(mirror: Mirror, account: str, call: Callable[[], Awaitable[T]]) -> T:
    """The result of `call`, which asks the server."""
    report = _on_filling.get()
    if report is None or not await _tell(mirror, account, report):
        return await call()
    answers: list[T] = []
    failures: list[Exception] = []  # a task group would wrap them
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_keep_telling, mirror, account, report)
        try:
            answers.append(await call())
        except Exception as failure:  # noqa: BLE001 - raised below
            failures.append(failure)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return answers[0]


async def _keep_telling(mirror: Mirror, account: str, report: OnFilling) -> None:
    is_filling = True
    while is_filling:
        await anyio.sleep(_EVERY)
        is_filling = await _tell(mirror, account, report)


async def _tell(mirror: Mirror, account: str, report: OnFilling) -> bool:
    """Whether there is more to tell."""
    status = await anyio.to_thread.run_sync(mirror.status)
    if not status.complete and status.expected > status.messages:
        await report(account, status.messages, status.expected)
    return not status.complete
