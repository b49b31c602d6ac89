"""A TCP proxy that misbehaves on request: cuts, silence, slowness, swallowed answers. One thread, loopback only."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.peers.daemon import LOOPBACK


@dataclass(slots=True)
class Faults:
    """What is wrong at the moment. Patterns and counts are per connection; set them while connections run."""

    cut_after_down: int | None = None  # bytes from the server until the connection is reset
    cut_on_client: bytes | None = None  # reset when the client has sent this, which is still passed on
    cut_before_client: bytes | None = None  # reset when the client sends this, which is not passed on
    swallow_after: bytes | None = (
        None  # once the client has sent this, the server's answers are dropped and it hangs up
    )
    instead: tuple[bytes, bytes] | None = None  # what of the server's answers to exchange for what
    refuse: Callable[[bytes], bytes | None] | None = None  # of a command without its tag: what to answer in its place
    silent: bool = False  # nothing goes through any more, the connection stays up
    drip: float = 0.0  # seconds between single bytes from the server
    times: int | None = None  # how many connections are still to suffer; None: all of them


@dataclass(slots=True)
class FaultProxy:
    port: int
    faults: Faults
    _loop: asyncio.AbstractEventLoop
    _links: list[_Link]
    connections: int = 0
    heard: bytes = b""  # everything clients have sent, in order
    answered: int = 0  # bytes the server has sent
    round_trips: int = 0  # times a client has sent something after an answer, on any connection

    def reset(self, **faults: object) -> None:
        """Well-behaved again, but for these."""
        self.faults = Faults(**faults)  # type: ignore[arg-type]

    def cut_all(self) -> None:
        """Reset every connection that is open now."""
        done = threading.Event()

        def cut() -> None:
            for link in list(self._links):
                link.cut()
            self._loop.call_soon(self._loop.call_soon, done.set)  # a cut socket is closed on the loop's next round

        self._loop.call_soon_threadsafe(cut)
        done.wait(5)


class _Link:
    """One client's connection to the server behind."""

    def __init__(self, proxy: FaultProxy, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._ends = (client, server)
        self._up = b""
        self._line = b""
        self._down = 0
        self._swallowing = False
        self._is_answered = True

    @property
    def faults(self) -> Faults:
        return self._proxy.faults

    def _suffers(self) -> bool:
        if self.faults.times is None:
            return True
        if self.faults.times > 0:
            self.faults.times -= 1
            return True
        return False

    def cut(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.transport.abort()

    async def upwards(self, reader: asyncio.StreamReader) -> None:
        server = self._ends[1]
        while data := await reader.read(65536):
            await self._wait_while_silent()
            self._proxy.heard += data
            self._proxy.round_trips += self._is_answered
            self._is_answered = False
            self._up = (self._up + data)[-200_000:]
            if _holds(self._up, self.faults.cut_before_client) and self._suffers():
                return self.cut()
            if _holds(self._up, self.faults.swallow_after):
                self._swallowing = True
            server.write(self._unless_refused(data))
            await server.drain()
            if _holds(self._up, self.faults.cut_on_client) and self._suffers():
                return self.cut()
        return None

    def _unless_refused(self, data: bytes) -> bytes:
        """What is passed on: whole lines, without commands that are answered here."""
        refuse = self.faults.refuse
        if refuse is None:
            data, self._line = self._line + data, b""
            return data
        *lines, self._line = (self._line + data).split(b"\r\n")
        passed = b""
        for line in lines:
            tag, _, command = line.partition(b" ")
            answer = refuse(command)
            if answer is None:
                passed += line + b"\r\n"
            else:
                self._ends[0].write(tag + b" " + answer + b"\r\n")
        return passed

    async def downwards(self, reader: asyncio.StreamReader) -> None:
        client = self._ends[0]
        while data := await reader.read(65536):
            await self._wait_while_silent()
            self._proxy.answered += len(data)
            data = data.replace(*self.faults.instead) if self.faults.instead else data
            self._is_answered = True
            if self._swallowing:
                return self.cut()
            limit = self.faults.cut_after_down
            self._down += len(data)
            if limit is not None and self._down >= limit and self._suffers():
                client.write(data[: max(0, len(data) - (self._down - limit))])
                await client.drain()
                return self.cut()
            await self._pass_on(client, data)
        return None

    async def _pass_on(self, client: asyncio.StreamWriter, data: bytes) -> None:
        pieces = [data[i : i + 1] for i in range(len(data))] if self.faults.drip else [data]
        for piece in pieces:
            if self.faults.drip:
                await asyncio.sleep(self.faults.drip)
            client.write(piece)
            await client.drain()

    async def _wait_while_silent(self) -> None:
        while self.faults.silent:
            await asyncio.sleep(0.02)

    def close(self) -> None:
        for end in self._ends:
            end.close()


def _holds(data: bytes, pattern: bytes | None) -> bool:
    return pattern is not None and pattern in data


@contextmanager
def faulty(upstream: int, *, source: str = LOOPBACK) -> Iterator[FaultProxy]:
    """A proxy before that loopback port, which sees connections come from `source`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="faultproxy", daemon=True)
    thread.start()
    proxy = FaultProxy(0, Faults(), loop, [])
    server = _wait(loop, lambda: asyncio.start_server(lambda r, w: _serve(proxy, upstream, source, r, w), LOOPBACK, 0))
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        proxy.cut_all()
        loop.call_soon_threadsafe(server.close)
        _wait(loop, _cancel_all)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _serve(
    proxy: FaultProxy, upstream: int, source: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    proxy.connections += 1
    try:
        up_reader, up_writer = await asyncio.open_connection(LOOPBACK, upstream, local_addr=(source, 0))
    except OSError:
        writer.transport.abort()
        return
    link = _Link(proxy, writer, up_writer)
    proxy._links.append(link)
    try:
        tasks = [asyncio.create_task(link.upwards(reader)), asyncio.create_task(link.downwards(up_reader))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        proxy._links.remove(link)
        link.close()


def _wait(loop: asyncio.AbstractEventLoop, start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run_coroutine_threadsafe(start(), loop).result(10)
