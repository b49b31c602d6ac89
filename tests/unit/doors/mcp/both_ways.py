"""The same conversation twice: with calls that are taken before the SDK sees them, and without."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from tests.unit.doors.mcp.conversation import Client, Waiting, server_of_tools, talking

from postroom.doors.mcp.direct_calls import DirectCalls
from postroom.doors.mcp.server import PostroomServer

Story = Callable[[Client, Waiting], Awaitable[None]]
Lines = list[str]


@asynccontextmanager
async def noting(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lines]:
    """The lines that were taken."""
    taken, takes = Lines(), DirectCalls.takes

    def noted(self: DirectCalls, line: str) -> bool:
        is_taken = takes(self, line)
        if is_taken:
            taken.append(line)
        return is_taken

    with monkeypatch.context() as patched:
        patched.setattr(DirectCalls, "takes", noted)
        patched.setattr("secrets.token_hex", lambda _: "0123")
        yield taken


async def told(story: Story, prepare: Callable[[PostroomServer], None] = lambda _: None) -> Lines:
    waiting = Waiting()
    server = server_of_tools(waiting)
    prepare(server)
    async with talking(server) as client:
        await story(client, waiting)
    return [re.sub(r'"duration_ms":[0-9.]+', "", line) for line in client.heard]


async def told_both_ways(
    monkeypatch: pytest.MonkeyPatch, story: Story, prepare: Callable[[PostroomServer], None] = lambda _: None
) -> tuple[Lines, Lines]:
    """What a client is told, which is the same both ways, and the lines that were taken."""
    async with noting(monkeypatch) as taken:
        directly = await told(story, prepare)
        with monkeypatch.context() as patched:
            patched.setattr(DirectCalls, "takes", lambda self, line: False)
            usually = await told(story, prepare)
    assert directly == usually
    return directly, taken


async def begun(waiting: Waiting, *names: str) -> None:
    while waiting.begun != list(names):
        await anyio.sleep(0)
