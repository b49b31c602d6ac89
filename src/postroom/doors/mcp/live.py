"""Tells subscribed clients that an inbox changed, in the way of either protocol era.

An account is watched only while somebody listens, once for all of them. A subscription is confirmed when its inbox is
watched, so that whoever reads it from then on, and again when told of a change, misses nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from postroom.model.errors import Unsupported
from postroom.service.house import House

OpenHouse = Callable[[], AbstractAsyncContextManager[House]]
RequestContext = ServerRequestContext[House, Any]

CONFIRMED_AFTER = 5.0  # seconds at most: an account that cannot be reached yet is told of when it can
BREATH = 0.2  # seconds between two messages about one inbox: a flood of changes is one piece of news
_SCOPES = "postroom subscriptions"  # where a connection keeps what ends its subscriptions


@dataclass(slots=True)
class _Watch:
    """One account being watched."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_settled: anyio.Event = field(default_factory=anyio.Event)  # it is watched, or cannot be
    is_possible: bool = True
    listeners: int = 0


class Live:
    """`inboxes` are the resources that can be subscribed to: URI to account."""

    def __init__(self, inboxes: Mapping[str, str]) -> None:
        self.bus = InMemorySubscriptionBus()
        self._inboxes = inboxes
        self._watches: dict[str, _Watch] = {}
        self._house: House
        self._tasks: TaskGroup

    def beside(self, open_house: OpenHouse) -> OpenHouse:
        """The same house, with watching going on as long as it is open."""

        @asynccontextmanager
        async def opened() -> AsyncIterator[House]:
            async with open_house() as house, anyio.create_task_group() as tasks:
                self._house, self._tasks = house, tasks
                yield house
                tasks.cancel_scope.cancel()

        return opened

    def register(self, server: MCPServer[House]) -> None:
        handlers = server._lowlevel_server
        handlers.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        handlers.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)
        handlers.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, _Listening(self))

    @asynccontextmanager
    async def watched(self, uris: Iterable[str]) -> AsyncIterator[list[str]]:
        """Keeps these inboxes watched; answers with those that can be."""
        known = [uri for uri in dict.fromkeys(uris) if uri in self._inboxes]
        watches = [self._joined(uri) for uri in known]
        try:
            with anyio.move_on_after(CONFIRMED_AFTER):
                for watch in watches:
                    await watch.is_settled.wait()
            yield [uri for uri, watch in zip(known, watches, strict=True) if watch.is_possible]
        finally:
            for uri in known:
                self._leave(uri)

    def _joined(self, uri: str) -> _Watch:
        if uri not in self._watches:
            self._watches[uri] = _Watch()
            self._tasks.start_soon(self._watch, uri, self._watches[uri])
        self._watches[uri].listeners += 1
        return self._watches[uri]

    def _leave(self, uri: str) -> None:
        watch = self._watches[uri]
        watch.listeners -= 1
        if not watch.listeners:
            del self._watches[uri]
            watch.scope.cancel()

    async def _watch(self, uri: str, watch: _Watch) -> None:
        from postroom.service.watching import changes

        with watch.scope:
            try:
                async with aclosing(changes(self._house, self._inboxes[uri])) as news:
                    async for _ in news:
                        watch.is_settled.set()
                        await self.bus.publish(ResourceUpdated(uri))
                        await anyio.sleep(BREATH)
            except Unsupported:
                watch.is_possible = False
                watch.is_settled.set()

    # Until 2025-11-25: a subscription belongs to a connection, which carries the news.

    async def _subscribe(self, ctx: RequestContext, params: SubscribeRequestParams) -> EmptyResult:
        connection = ctx.session._connection
        if not connection.has_standalone_channel:
            raise MCPError(INVALID_REQUEST, "Nothing could be told without a session: initialize one and use it.")
        mine: dict[str, anyio.CancelScope] = connection.state.setdefault(_SCOPES, {})
        if params.uri not in mine:
            mine[params.uri] = scope = anyio.CancelScope()
            connection.exit_stack.callback(scope.cancel)
            try:
                await self._tasks.start(self._tell, connection, params.uri, scope)
            except BaseException:
                del mine[params.uri]
                raise
        return EmptyResult()

    async def _unsubscribe(self, ctx: RequestContext, params: UnsubscribeRequestParams) -> EmptyResult:
        scope = ctx.session._connection.state.get(_SCOPES, {}).pop(params.uri, None)
        if scope is not None:
            scope.cancel()
        return EmptyResult()

    async def _tell(
        self,
        connection: Connection,
        uri: str,
        scope: anyio.CancelScope,
        *,
        task_status: TaskStatus[None],
    ) -> None:
        with scope:
            async with self.watched([uri]) as uris, self._news_of(uri) as news:
                if not uris:
                    raise MCPError(INVALID_PARAMS, self._refusal(uri))
                task_status.started()
                async for _ in news:
                    await connection.send_resource_updated(uri)

    @asynccontextmanager
    async def _news_of(self, uri: str) -> AsyncIterator[AsyncIterator[None]]:
        """At most one piece of news waits: it says all that ten would."""
        send, receive = anyio.create_memory_object_stream[None](1)

        def note(event: ServerEvent) -> None:
            if event == ResourceUpdated(uri):
                with contextlib.suppress(anyio.WouldBlock):
                    send.send_nowait(None)

        unsubscribe = self.bus.subscribe(note)
        try:
            with send, receive:
                yield receive
        finally:
            unsubscribe()

    def _refusal(self, uri: str) -> str:
        if uri in self._inboxes:
            return "The provider of this account does not tell of changes. Read the resource again from time to time."
        return f"Only these resources can be subscribed to: {', '.join(self._inboxes)}."


class _Listening(ListenHandler):
    """From 2026-07-28 on: a subscription is a request, and its answer is the stream of news."""

    def __init__(self, live: Live) -> None:
        super().__init__(live.bus)
        self._live = live

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        wanted = params.notifications
        async with self._live.watched(wanted.resource_subscriptions or ()) as uris:
            honoured = wanted.model_copy(update={"resource_subscriptions": uris})
            return await super().__call__(ctx, params.model_copy(update={"notifications": honoured}))
