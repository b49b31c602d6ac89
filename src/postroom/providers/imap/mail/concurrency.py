"""Several calls at once, and one change spread over several folders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from postroom.model.errors import PostroomError
from postroom.model.outcome import ItemResult
from postroom.providers.imap.mail.organising import Results
from postroom.providers.imap.mail.refs import MailRef, by_folder, gone


async def concurrently(calls: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """The pool limits the connections. The first failure is raised unwrapped, after all have ended."""
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


async def each_folder(
    refs: Sequence[str], change: Callable[[str, list[MailRef]], Awaitable[Results]]
) -> list[ItemResult]:
    """One result per ref, in order; a folder whose connection broke fails only for its own messages."""
    results: Results = {}
    for folder, group in by_folder(refs).items():
        try:
            results.update(await change(folder, group))
        except PostroomError as error:
            results.update((str(ref), ItemResult(str(ref), error)) for ref in group)
    return [results.get(ref) or ItemResult(ref, gone()) for ref in refs]
