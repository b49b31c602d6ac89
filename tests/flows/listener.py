"""A client of either protocol era that has subscribed to resources and waits to be told of changes."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ResourceUpdatedNotification

BOUND = 20.0  # seconds until waiting has failed; a quiet machine needs less than one

Target = MCPServer[Any] | StdioServerParameters | str


@dataclass(frozen=True)
class Listener:
    client: Client
    honoured: list[str]  # what the server agreed to tell of
    _news: AsyncIterator[str]

    async def next(self) -> str:
        """The URI of the next resource that changed."""
        with anyio.fail_after(BOUND):
            return await anext(self._news)


@asynccontextmanager
async def listening(target: Target, era: str, *uris: str) -> AsyncIterator[Listener]:
    opened = _by_session if era == "legacy" else _by_request
    async with opened(target, uris) as listener:
        yield listener


@asynccontextmanager
async def _by_session(target: Target, uris: tuple[str, ...]) -> AsyncIterator[Listener]:
    send, receive = anyio.create_memory_object_stream[str](math.inf)

    async def note(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            send.send_nowait(str(message.params.uri))

    with send, receive:
        async with Client(target, mode="legacy", message_handler=note) as client:
            for uri in uris:
                await subscribe(client, uri)
            yield Listener(client, list(uris), receive)


@asynccontextmanager
async def _by_request(target: Target, uris: tuple[str, ...]) -> AsyncIterator[Listener]:
    async with Client(target, mode="2026-07-28") as client, client.listen(resource_subscriptions=uris) as news:
        yield Listener(client, list(news.honored.resource_subscriptions or ()), (event.uri async for event in news))


async def subscribe(client: Client, uri: str) -> None:
    with pytest.warns(MCPDeprecationWarning):
        await client.subscribe_resource(uri)


async def unsubscribe(client: Client, uri: str) -> None:
    with pytest.warns(MCPDeprecationWarning):
        await client.unsubscribe_resource(uri)
