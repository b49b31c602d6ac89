"""A conversation over pipes with a server in this process, and tools that do what a test wants."""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from postroom.doors.mcp import client_log
from postroom.doors.mcp.server import OpenGateway, PostroomServer, SharedGateway
from postroom.doors.mcp.stdio import Lines, Output, converse
from postroom.doors.mcp.toolbox import Toolset, bind
from postroom.model.errors import NotFound
from postroom.service.gateway import Gateway
from postroom.settings.dialects import Traits

TOOLS = Toolset("tools")


class Waiting:
    """What the tool `wait` is doing, by name."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self.may_end: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)


@TOOLS.tool("Echo", read_only=True)
async def echo(
    gateway: Gateway, text: str = "", number: int = 0, many: list[str] | None = None, from_: str = ""
) -> CallToolResult:
    """Say it again."""
    said = {"text": text, "number": number, "many": many, "from": from_}
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=said)


@TOOLS.tool("Wait")
async def wait(gateway: Gateway, ctx: Context[Gateway, Any], name: str) -> CallToolResult:
    """Wait until it may end."""
    waiting = cast("Any", gateway).waiting
    waiting.begun.append(name)
    await ctx.report_progress(1, 2)
    try:
        await waiting.may_end[name].wait()
    except anyio.get_cancelled_exc_class():
        waiting.cancelled.append(name)
        raise
    return CallToolResult(content=[TextContent(type="text", text=name)])


@TOOLS.tool("Fail")
async def fail(gateway: Gateway, how: str) -> CallToolResult:
    """Go wrong."""
    if how == "protocol":
        raise MCPError(-32001, "Not like this", {"why": ["a", 1]})
    if how == "ours":
        raise NotFound("There is no such thing.", reason="not_there")
    if how == "crash":
        raise RuntimeError("a secret")
    if how == "cancelled":
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        await gone
    odd = {"nan": float("nan"), "surrogate": "\ud800", "object": object()}[how]
    return CallToolResult(content=[], structured_content={"odd": odd})


def server_of_tools(waiting: Waiting) -> PostroomServer:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Gateway]:
        store = SimpleNamespace(pauses=SimpleNamespace(all=lambda **_: ()))
        yield cast("Any", SimpleNamespace(store=store, accounts=SimpleNamespace(outages=dict), waiting=waiting))

    server = PostroomServer(
        dialect=cast("Any", SimpleNamespace(TOOLSETS=(TOOLS,), INSTRUCTIONS="")),
        traits=Traits(),
        tools=[bind(spec) for spec in TOOLS.specs],
        lifespan=SharedGateway(cast("OpenGateway", opened)),
        resources=None,
        live=None,
    )
    client_log.register(server)
    return server


class Client:
    """The other end of the pipes."""

    def __init__(self, writing: int, reading: int) -> None:
        self._writing, self._reading = writing, Lines(reading)
        self.heard: list[str] = []

    def say(self, *lines: str | bytes | dict[str, Any]) -> None:
        os.write(self._writing, b"".join(map(_encoded, lines)))

    async def hear(self, answers: int = 1) -> list[str]:
        """The next lines, until there were as many answers."""
        start = len(self.heard)
        while answers:
            self.heard.append(await anext(self._reading))
            answers -= '"id":' in self.heard[-1]
        return self.heard[start:]

    async def hear_until(self, words: str) -> None:
        while not self.heard or words not in self.heard[-1]:
            await self.hear(1)

    def hang_up(self) -> None:
        """Watch the pipe no more: it is about to be closed."""
        self._reading.end()

    async def end(self) -> list[str]:
        """Say nothing more, and hear the rest."""
        os.close(self._writing)
        rest = [line async for line in self._reading]
        self.heard += rest
        return rest


@asynccontextmanager
async def talking(server: PostroomServer) -> AsyncIterator[Client]:
    """After the handshake. The client is to `end`."""
    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()

    async def serve() -> None:
        async with server.gateway(server):
            await converse(server, Lines(server_in), Output(server_out))
        os.close(server_out)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            client = Client(client_out, client_in)
            client.say(initialize(), {"method": "notifications/initialized"})
            await client.hear()
            yield client
    os.close(server_in)
    os.close(client_in)


def initialize(version: str = "2025-06-18") -> dict[str, Any]:
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    return {"id": 0, "method": "initialize", "params": hello}


def call(number: Any, tool: str = "echo", /, **arguments: Any) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def cancel(number: Any) -> dict[str, Any]:
    return {"method": "notifications/cancelled", "params": {"requestId": number}}


def _encoded(line: str | bytes | dict[str, Any]) -> bytes:
    if isinstance(line, dict):
        line = json.dumps({"jsonrpc": "2.0", **line})
    return (line if isinstance(line, bytes) else line.encode()) + b"\n"
