"""Subscriptions to inbox changes, for clients of both protocol eras."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskStatus
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent
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

from postroom.doors.mcp.live import Live
from postroom.doors.mcp.sdk_internals import connection_of, lowlevel_server
from postroom.service.gateway import Gateway

RequestContext = ServerRequestContext[Gateway, Any]
Scopes = dict[str, anyio.CancelScope]

_SCOPES = "postroom.subscriptions"  # in a connection's state: URI to what ends that subscription


def register(server: MCPServer[Gateway], live: Live) -> Listening:
    """Returns what can end the streams of listening clients: they do not end by themselves."""
    handlers, sessions, listening = lowlevel_server(server), Sessions(live), Listening(live)
    handlers.add_request_handler("resources/subscribe", SubscribeRequestParams, sessions.subscribe)
    handlers.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, sessions.unsubscribe)
    handlers.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listening)
    return listening


class Listening(ListenHandler):
    """From 2026-07-28 on a subscription is a request, and its response is the stream of notifications."""

    def __init__(self, live: Live) -> None:
        super().__init__(live.bus)
        self._live = live

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        wanted = params.notifications
        async with self._live.watching(wanted.resource_subscriptions or ()) as uris:
            honoured = wanted.model_copy(update={"resource_subscriptions": uris})
            return await super().__call__(ctx, params.model_copy(update={"notifications": honoured}))


class Sessions:
    """Before that, a subscription belongs to a connection, which carries the notifications until either ends."""

    def __init__(self, live: Live) -> None:
        self._live = live

    async def subscribe(self, ctx: RequestContext, params: SubscribeRequestParams) -> EmptyResult:
        connection = connection_of(ctx)
        if not connection.has_standalone_channel:
            raise MCPError(INVALID_REQUEST, "Notifications need a session: initialize one and use its id.")
        mine = _scopes(connection)
        if params.uri not in mine:
            mine[params.uri] = anyio.CancelScope()
            try:
                await self._live.tasks.start(self._tell, connection, params.uri, mine[params.uri])
            except BaseException:
                mine.pop(params.uri, None)
                raise
        return EmptyResult()

    async def unsubscribe(self, ctx: RequestContext, params: UnsubscribeRequestParams) -> EmptyResult:
        scope = _scopes(connection_of(ctx)).pop(params.uri, None)
        if scope is not None:
            scope.cancel()
        return EmptyResult()

    async def _tell(
        self, connection: Connection, uri: str, scope: anyio.CancelScope, *, task_status: TaskStatus[None]
    ) -> None:
        with scope:
            async with self._live.watching([uri]) as possible, self._news_of(uri) as news:
                if not possible:
                    raise MCPError(INVALID_PARAMS, self._refusal(uri))
                task_status.started()
                async for _ in news:
                    await connection.send_resource_updated(uri)

    @asynccontextmanager
    async def _news_of(self, uri: str) -> AsyncIterator[AsyncIterator[None]]:
        """At most one notification is queued: ten would say the same."""
        send, receive = anyio.create_memory_object_stream[None](1)

        def note(event: ServerEvent) -> None:
            if event == ResourceUpdated(uri):
                with contextlib.suppress(anyio.WouldBlock):
                    send.send_nowait(None)

        unsubscribe = self._live.bus.subscribe(note)
        try:
            with send, receive:
                yield receive
        finally:
            unsubscribe()

    def _refusal(self, uri: str) -> str:
        if uri in self._live.inboxes:
            return "The provider of this account does not report changes. Read the resource again from time to time."
        return f"Only these resources can be subscribed to: {', '.join(self._live.inboxes)}."


def _scopes(connection: Connection) -> Scopes:
    """The connection's subscriptions; they end with it."""
    if _SCOPES not in connection.state:
        connection.state[_SCOPES] = {}
        connection.exit_stack.callback(_end, connection.state[_SCOPES])
    scopes: Scopes = connection.state[_SCOPES]
    return scopes


def _end(scopes: Scopes) -> None:
    for scope in scopes.values():
        scope.cancel()
