"""Standard input and output for the SDK's transport, with a shutdown that does not wait for the client.

The SDK reads in a thread that nobody can interrupt: with stdout closed and stdin still open the server would never end.
Here the blocked read is left behind, in a thread that the end of the process does not wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.stdio import stdio_server

from postroom.doors.mcp.sdk_internals import lowlevel_server

if TYPE_CHECKING:
    from postroom.doors.mcp.server import PostroomServer

_GONE = (BrokenPipeError, ConnectionResetError)
_CONSEQUENCES = (anyio.BrokenResourceError, anyio.ClosedResourceError)


async def run_stdio(server: PostroomServer) -> bool:
    """Serve until stdin ends. False if the client stopped reading before that, so that a response was lost."""
    lowlevel = lowlevel_server(server)  # as MCPServer.run_stdio_async does, which does not accept streams
    lines = cast("anyio.AsyncFile[str]", Lines(_claimed_stdin()))
    try:
        async with stdio_server(stdin=lines) as (read_stream, write_stream):
            await lowlevel.run(read_stream, write_stream, lowlevel.create_initialization_options())
    except BaseExceptionGroup as group:
        unexpected = group.split(_GONE)[1]
        if unexpected is group or (unexpected is not None and unexpected.split(_CONSEQUENCES)[1] is not None):
            raise
        return False
    return True


class Lines:
    """The lines of a descriptor. A line is read when it is requested, and the request can be cancelled."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._wanted: queue.SimpleQueue[asyncio.Future[str]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True, name="stdin").start()

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        line: asyncio.Future[str] = self._loop.create_future()
        self._wanted.put(line)
        if text := await line:
            return text
        raise StopAsyncIteration

    def _read(self) -> None:
        with (
            os.fdopen(self._descriptor, encoding="utf-8", errors="replace", newline="\n") as file,
            contextlib.suppress(RuntimeError),  # the loop is closed: the server has ended without us
        ):
            while True:
                wanted = self._wanted.get()
                self._loop.call_soon_threadsafe(_answer, wanted, _line(file))


def _line(file: Any) -> str:
    try:
        return str(file.readline())
    except OSError:
        return ""  # a terminal that was hung up


def _answer(wanted: asyncio.Future[str], line: str) -> None:
    if not wanted.done():
        wanted.set_result(line)


def _claimed_stdin() -> int:
    """The client's stdin under another descriptor. Other code that reads standard input finds it empty."""
    client = os.dup(sys.stdin.fileno())
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, sys.stdin.fileno())
    os.close(empty)
    return client
