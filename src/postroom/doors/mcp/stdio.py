"""Standard input and output for the SDK's transport, read and written by the event loop itself.

The SDK reads and writes in threads. That costs a call four changes between threads, and nobody can interrupt a thread
that reads: with stdout closed and stdin still open the server would never end.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

import anyio
from anyio import to_thread
from mcp.server.stdio import stdio_server

from postroom.doors.mcp.sdk_internals import lowlevel_server
from postroom.doors.mcp.unanswered import Heard, Said, Unanswered

if TYPE_CHECKING:
    from postroom.doors.mcp.server import PostroomServer

_GONE = (BrokenPipeError, ConnectionResetError)
_CONSEQUENCES = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_STDIN = 0
_AT_ONCE = 65_536  # what a pipe holds


async def run_stdio(server: PostroomServer, lines: Lines) -> bool:
    """Serve until the lines end and what they asked is answered. False if the client stopped reading before that, so
    that a response was lost."""
    lowlevel = lowlevel_server(server)  # as MCPServer.run_stdio_async does, which does not accept streams
    output, unanswered = Output(_claimed_stdout()), Unanswered()
    try:
        async with stdio_server(
            stdin=cast("anyio.AsyncFile[str]", lines), stdout=cast("anyio.AsyncFile[str]", output)
        ) as (read_stream, write_stream):
            said = Said(write_stream, unanswered)
            heard = Heard(read_stream, unanswered, said)
            await lowlevel.run(heard, said, lowlevel.create_initialization_options())
    except BaseExceptionGroup as group:
        unexpected = group.split(_GONE)[1]
        if unexpected is group or (unexpected is not None and unexpected.split(_CONSEQUENCES)[1] is not None):
            raise
        return False
    finally:
        output.release()
    return True


class Lines:
    """The lines of a descriptor that are not empty, the last one with or without its line break."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._read = bytearray()
        self._searched = 0  # bytes of it that contain no line break
        self._is_ended = False
        self._waiting = anyio.CancelScope()

    def end(self) -> None:
        """As if the client had closed its end. To be called by the event loop."""
        self._is_ended = True
        self._waiting.cancel()

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        while line := await self._next():
            if not line.isspace():
                return line.decode(errors="replace")
        raise StopAsyncIteration

    async def _next(self) -> bytes:
        while (end := self._read.find(b"\n", self._searched) + 1) == 0 and not self._is_ended:
            self._searched = len(self._read)
            chunk = await self._chunk()
            self._read += chunk
            self._is_ended = not chunk
        line = bytes(self._read[: end or None])
        del self._read[: end or None]
        self._searched = 0
        return line

    async def _chunk(self) -> bytes:
        with contextlib.suppress(PermissionError), anyio.CancelScope() as self._waiting:
            await anyio.wait_readable(self._descriptor)  # refused for a file, which is never waited for
        if self._is_ended:
            return b""
        try:
            return os.read(self._descriptor, _AT_ONCE)
        except OSError:
            return b""  # a terminal that was hung up


class Output:
    """Writes each line at once as far as the client has room for it, and waits with the rest. A terminal or a file is
    written to in a thread: what others may have open, too, must not be told to return before it has written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_ours = _is_pipe(descriptor) and not _is_same(descriptor, sys.stderr.fileno())
        if self._is_ours:
            os.set_blocking(descriptor, False)

    async def write(self, text: str) -> None:
        left = memoryview(text.encode())
        while left:
            try:
                written = await self._some(left)
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)
            else:
                left = left[written:]

    async def flush(self) -> None:
        """Nothing is held back."""

    def release(self) -> None:
        if self._is_ours:
            os.set_blocking(self._descriptor, True)

    async def _some(self, left: memoryview) -> int:
        if self._is_ours:
            return os.write(self._descriptor, left)
        return await to_thread.run_sync(os.write, self._descriptor, left, abandon_on_cancel=True)


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _is_same(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:  # there is no other
        return False


def claimed_stdin() -> int:
    """The client's stdin under another descriptor. Other code that reads standard input finds it empty."""
    client = os.dup(_STDIN)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, _STDIN)
    os.close(empty)
    return client


def _claimed_stdout() -> int:
    """The client's stdout under another descriptor. What other code prints goes to stderr."""
    client = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return client
