"""Standard input and output as streams of messages, read and written by the event loop itself.

The SDK reads and writes in threads, and passes each message on to another task. That costs a call four changes between
threads and as many rounds of the event loop, and nobody can interrupt a thread that reads: with stdout closed and stdin
still open the server would never end.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, RequestId, jsonrpc_message_adapter
from pydantic_core import from_json

from postroom.doors.mcp.direct_calls import DirectCalls
from postroom.doors.mcp.sdk_internals import lowlevel_server
from postroom.doors.mcp.unanswered import Closing, Heard, Said, Unanswered, UnusableId

if TYPE_CHECKING:
    from postroom.doors.mcp.server import PostroomServer

_STDIN = 0
_AT_ONCE = 65_536  # what a pipe holds
_LAST_REQUESTS = 2**20  # bytes that are still read when the server ends
_LAST_WORDS = 5.0  # seconds in which a client can read what is left when the server ends


async def run_stdio(server: PostroomServer, lines: Lines) -> bool:
    """Serve until the lines end and what they asked is answered. False if the client stopped reading before that, so
    that a response was lost."""
    output = Output(_claimed_stdout())
    try:
        return await converse(server, lines, output)
    finally:
        output.release()


async def converse(server: PostroomServer, lines: Lines, output: Output) -> bool:
    """One conversation, as `run_stdio` has it with the process that started this one."""
    lowlevel, unanswered = lowlevel_server(server), Unanswered()

    def lost() -> None:
        unanswered.give_up()
        lines.end()

    written = Written(output, lost)

    async def answer(number: RequestId, line: bytes) -> None:
        with suppress(anyio.BrokenResourceError):  # as the SDK does with what a client does not read any more
            await written.write(line)
            unanswered.settled(number)

    said, direct = Said(written, unanswered), DirectCalls(server.plain_calls, unanswered.asked, answer)
    # As MCPServer.run_stdio_async does, which does not accept streams.
    options = lowlevel.create_initialization_options()
    await lowlevel.run(Heard(Read(lines, direct), unanswered, said), said, options)
    with anyio.move_on_after(_LAST_WORDS):
        await written.flush()
    return not written.is_lost


class Read(Closing):
    """The messages of the client that the SDK handles. A line that is none is an exception among them."""

    def __init__(self, lines: Lines, direct: DirectCalls) -> None:
        self._lines, self._direct = lines, direct

    async def aclose(self) -> None:
        await self._direct.end()

    async def receive(self) -> SessionMessage | Exception:
        async for line in self._lines:
            if self._direct.takes(line):
                if self._lines.is_ahead:
                    await asyncio.sleep(0)  # the call begins before the next line is looked at
                continue
            item = _message(line)
            self._direct.passed_on(item)
            return item
        raise anyio.EndOfStream


def _message(line: str) -> SessionMessage | Exception:
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if isinstance(message, JSONRPCNotification) and "id" in from_json(line):
            return UnusableId()
        return SessionMessage(message)
    except Exception as error:  # noqa: BLE001
        return error


class Written(Closing):
    """Our messages, a line each. `lost` is called once the client has stopped reading: by closing its end, hanging up
    the terminal, or with a disk that is full."""

    def __init__(self, output: Output, lost: Callable[[], None]) -> None:
        self._output = output
        self._lost = lost
        self.is_lost = False

    async def send(self, item: SessionMessage, /) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        await self.write(f"{text}\n".encode())

    async def write(self, line: bytes) -> None:
        if self.is_lost or not await self._tried(line):
            raise anyio.BrokenResourceError

    async def flush(self) -> None:
        """What a cancelled call left unwritten."""
        if not self.is_lost:
            await self._tried(b"")

    async def _tried(self, line: bytes) -> bool:
        try:
            await self._output.write(line)
        except OSError:
            self.is_lost = True
            self._lost()
        return not self.is_lost


class Lines:
    """The lines of a descriptor that are not empty, the last one with or without its line break."""

    def __init__(self, descriptor: int) -> None:
        self._read = bytearray()
        self._searched = 0  # bytes of it that contain no line break
        self._is_ended = False
        self._chunks = _Chunks(descriptor)

    @property
    def is_ahead(self) -> bool:
        """Whether more was read than was asked for."""
        return bool(self._read)

    def end(self) -> None:
        """As if the client had closed its end now: what it wrote before is still read. To be called by the event
        loop."""
        self._read += self._chunks.end()
        self._is_ended = True

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
            chunk = await self._chunks.next()
            self._read += chunk
            self._is_ended = self._is_ended or not chunk
        line = bytes(self._read[: end or None])
        del self._read[: end or None]
        self._searched = 0
        return line


class _Chunks:
    """What a descriptor has to read, as it comes; empty at its end. The event loop goes on watching it between two
    calls: to begin and to end that for each of them takes longer than to read a line. What comes while nobody waits
    stays where it is, and ends the watching until the next call."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop: asyncio.AbstractEventLoop | None = None  # while it watches
        self._waiter: asyncio.Future[bytes] | None = None
        self._rest = b""  # follows what the waiter gets

    async def next(self) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            if self._loop is None:
                loop.add_reader(self._descriptor, self._arrived)
                self._loop = loop
        except PermissionError:
            await asyncio.sleep(0)
            return self._read()  # a file, which is never waited for
        self._waiter = loop.create_future()
        try:
            return await self._waiter + self._rest
        finally:
            self._waiter = None

    def end(self) -> bytes:
        """As if nothing more came. What is there already, if nobody waits for it; of a file, where all of it always is,
        nothing."""
        self._stop_watching()
        rest = b"" if _is_file(self._descriptor) else self._there()
        if self._waiter is None:
            return rest
        self._rest += rest
        if not self._waiter.done():
            self._waiter.set_result(b"")
        return b""

    def _there(self) -> bytes:
        watched, found = select.poll(), bytearray()
        watched.register(self._descriptor, select.POLLIN)
        while len(found) < _LAST_REQUESTS and watched.poll(0) and (chunk := self._read()):
            found += chunk
        return bytes(found)

    def _arrived(self) -> None:
        if self._waiter is None or self._waiter.done():
            self._stop_watching()
            return
        try:
            chunk = self._read()
        except BlockingIOError:
            return  # another process has read it
        if not chunk:
            self._stop_watching()
        self._waiter.set_result(chunk)

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _AT_ONCE)
        except BlockingIOError:
            raise
        except OSError:
            return b""  # a terminal that was hung up

    def _stop_watching(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._descriptor)
            self._loop = None


class Output:
    """Writes each line at once as far as the client has room for it, and waits with the rest. A terminal or a file is
    written to in a thread: what others may have open, too, must not be told to return before it has written.

    What a writer that was cancelled leaves is written before the next line: lines never mix.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_ours = _is_pipe(descriptor) and not _is_same(descriptor, sys.stderr.fileno())
        self._left = bytearray()
        self._turn = anyio.Lock(fast_acquire=True)
        self._thread_turn = threading.Lock()
        if self._is_ours:
            os.set_blocking(descriptor, False)

    async def write(self, line: bytes) -> None:
        self._left += line
        async with self._turn:
            while self._left:
                await (self._some() if self._is_ours else self._all())

    def release(self) -> None:
        if self._is_ours:
            os.set_blocking(self._descriptor, True)

    async def _some(self) -> None:
        try:
            written = os.write(self._descriptor, self._left)
        except BlockingIOError:
            await anyio.wait_writable(self._descriptor)
        else:
            del self._left[:written]

    async def _all(self) -> None:
        """A thread that is abandoned still writes what it was given, and the next one waits for it."""
        given, self._left = self._left, bytearray()
        try:
            written = await to_thread.run_sync(self._written, given, abandon_on_cancel=True)
        except BlockingIOError:  # another program wants it so
            self._left = given + self._left
            await anyio.wait_writable(self._descriptor)
        else:
            self._left = given[written:] + self._left

    def _written(self, given: bytearray) -> int:
        with self._thread_turn:
            return os.write(self._descriptor, given)


def _is_file(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


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
