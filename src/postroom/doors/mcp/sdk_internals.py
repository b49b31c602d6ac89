"""The private parts of the MCP SDK that are used, all in one place, so that a new version is checked in one go.

Seen in mcp 2.3.0. `tests/unit/doors/mcp/test_sdk_internals.py` fails when one of them changes, for `Started`
`test_direct_calls.py` and `test_direct_order.py` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.runner import modern_error_data
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import (
    _SHUTDOWN_WRITE_TIMEOUT,
    JSONRPCDispatcher,
    _InFlight,
    _JSONRPCDispatchContext,
)
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCRequest, RequestId


def lowlevel_server(server: MCPServer[Any]) -> Server[Any]:
    """The low-level server inside: for methods that MCPServer has no decorator for, and to run on our own streams."""
    return server._lowlevel_server


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection of a request: what belongs to it ends with it."""
    return ctx.session._connection


def declare_output(tool: Tool, schema: dict[str, Any]) -> None:
    """Set our own schema for structured content that the tool builds itself; the SDK would derive one from the return
    type, and validate every result against it with a model."""
    tool.fn_metadata.output_schema = schema


def without_own_spans(server: MCPServer[Any]) -> None:
    """The SDK's spans name methods and tools as the client wrote them, and repeat messages of errors. Ours do not."""
    lowlevel_server(server).middleware[:] = [
        each for each in lowlevel_server(server).middleware if not isinstance(each, OpenTelemetryMiddleware)
    ]


def close_standing_streams(manager: StreamableHTTPSessionManager) -> None:
    """End the streams by which sessions wait for notifications. Those of requests in progress stay open."""
    for transport in manager._server_instances.values():
        transport.close_standalone_sse_stream()


def has_session(manager: StreamableHTTPSessionManager, session: str) -> bool:
    return session in manager._server_instances


async def make_room_for_a_session(manager: StreamableHTTPSessionManager, most: int) -> None:
    """Where there are `most`, whichever has gone longest without a request ends. One with a request in progress or an
    open stream stays."""
    if len(manager._server_instances) < most:
        return
    idle = {
        each.idle_scope.deadline: (session, each)
        for session, each in manager._server_instances.items()
        if each.idle_scope is not None and not each._requests_in_flight
    }
    if idle:
        await manager._discard_session(*idle[min(idle)])


def error_of(error: Exception) -> dict[str, Any]:
    """What a client is told about a failed request. The text of an error that nobody expected is only logged."""
    return modern_error_data(error).model_dump(mode="json", exclude_none=True)


class Started:
    """A request that we run ourselves, on the connection and of the method of one that the SDK ran. The SDK knows it,
    as `JSONRPCDispatcher._dispatch_request` would have it: a client can cancel it and is told what goes wrong."""

    def __init__(self, one: ServerRequestContext[Any, Any], number: RequestId, params: Mapping[str, Any]) -> None:
        dispatcher = connection_of(one).outbound
        assert isinstance(dispatcher, JSONRPCDispatcher)
        self._dispatcher: JSONRPCDispatcher[Any] = dispatcher
        self._dctx = _JSONRPCDispatchContext(one.session._request_outbound.transport, dispatcher, number)
        self._is_answered = False
        self.number, self.scope = number, anyio.CancelScope()
        self.ctx = ServerRequestContext(
            session=ServerSession(self._dctx, connection_of(one)),
            lifespan_context=one.lifespan_context,
            protocol_version=one.protocol_version,
            method=one.method,
            params=params,
            request_id=number,
        )
        dispatcher._in_flight[coerce_request_id(number)] = _InFlight(self.scope, self._dctx)

    @property
    def is_settled(self) -> bool:
        """Answered, or never to be: the client has cancelled it."""
        return self._is_answered or self._dctx.cancel_requested.is_set()

    @is_settled.setter
    def is_settled(self, value: bool) -> None:
        self._is_answered = value

    def leave(self) -> None:
        """From now on it cannot be cancelled any more."""
        self._dctx.close()
        key, known = coerce_request_id(self.number), self._dispatcher._in_flight
        if key in known and known[key].dctx is self._dctx:
            del known[key]

    async def fail(self, problem: Exception) -> None:
        """Answer with an error."""

        async def failed(*_: object) -> dict[str, Any]:
            raise problem

        request = JSONRPCRequest(jsonrpc="2.0", id=self.number, method=self.ctx.method)
        self._is_answered = True
        await self._dispatcher._handle_request(request, self._dctx, anyio.CancelScope(), failed)

    async def cut_off(self) -> None:
        """Answer that the conversation is over."""
        closed = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
        await self._dispatcher._final_write(
            partial(self._dispatcher._write_error, self.number, closed),
            shield=True,
            timeout=_SHUTDOWN_WRITE_TIMEOUT,
            describe=f"shutdown error response for request {self.number!r}",
        )
