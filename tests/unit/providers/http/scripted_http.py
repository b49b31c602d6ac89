"""A real HTTP/1.1 server on loopback that does what the test tells it, also what no server should."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """`cut` sends only so many bytes of the whole reply and then closes the connection."""

    status: int = 200
    body: bytes | str | dict[str, Any] | list[Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None

    def wire(self) -> bytes:
        is_json = isinstance(self.body, dict | list)
        body = json.dumps(self.body).encode() if is_json else self.body
        body = body.encode() if isinstance(body, str) else body
        given = {key.lower(): value for key, value in self.headers.items()}
        usual = {"content-length": str(len(body)), **({"content-type": "application/json"} if is_json else {})}
        head = "".join(f"{key}: {value}\r\n" for key, value in {**usual, **given}.items())
        whole = f"HTTP/1.1 {self.status} Whatever\r\n{head}\r\n".encode() + body
        return whole if self.cut is None else whole[: self.cut]


Answering = Callable[[Asked], Reply]
GONE = Reply(cut=0)  # read the request, then hang up without a word


class Server:
    """Answers by `replies`, one after the other; the last one stays. Or by `by` where that is set."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.replies: list[Reply] = [Reply()]
        self.by: Answering | None = None
        self.gate: asyncio.Event | None = None  # where set, answers wait for it
        self.running = 0
        self.most_running = 0
        self.url = ""

    def _reply(self, asked: Asked) -> Reply:
        if self.by is not None:
            return self.by(asked)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                self.running += 1
                self.most_running = max(self.running, self.most_running)
                if self.gate is not None:
                    await self.gate.wait()
                reply = self._reply(asked)
                self.running -= 1
                writer.write(reply.wire())
                await writer.drain()
                if reply.cut is not None:
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    told = Server()
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0)
    told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield told
    finally:
        server.close()
