"""The private parts of the MCP SDK that are used, all in one place, so that a new version is checked in one go.

Seen in mcp 2.3.0. `tests/unit/doors/mcp/test_sdk_internals.py` fails when one of them changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.runner import modern_error_data
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.dispatcher import DispatchContext, OnRequest
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import JSONRPCRequest


def lowlevel_server(server: MCPServer[Any]) -> Server[Any]:
    """The low-level server inside: for methods that MCPServer has no decorator for, and to run on our own streams."""
    return server._lowlevel_server


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection of a request: what belongs to it ends with it."""
    return ctx.session._connection


def context_like(
    one: ServerRequestContext[Any, Any], dctx: DispatchContext[Any], params: Mapping[str, Any] | None
) -> ServerRequestContext[Any, Any]:
    """The context of another request without metadata, of the same method and on the same connection."""
    return ServerRequestContext(
        session=ServerSession(dctx, connection_of(one)),
        lifespan_context=one.lifespan_context,
        protocol_version=one.protocol_version,
        method=one.method,
        params=params,
        request_id=dctx.request_id,
    )


async def dispatch(ctx: ServerRequestContext[Any, Any], request: JSONRPCRequest, on_request: OnRequest) -> None:
    """Start the task of another request on the same connection. Whatever happens to it (cancelled, failed, cut off by
    the end) is up to the SDK; only its result comes from `on_request`."""
    dispatcher = connection_of(ctx).outbound
    assert isinstance(dispatcher, JSONRPCDispatcher)
    await dispatcher._dispatch_request(request, None, on_request, None)


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


def error_of(error: Exception) -> dict[str, Any]:
    """What a client is told about a failed request. The text of an error that nobody expected is only logged."""
    return modern_error_data(error).model_dump(mode="json", exclude_none=True)
