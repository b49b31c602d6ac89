"""The private parts of the MCP SDK that are used, all in one place, so that a new version is checked in one go.

Seen in mcp 2.3.0. `tests/unit/doors/mcp/test_sdk_internals.py` fails when one of them changes.
"""

from __future__ import annotations

from typing import Any

from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.runner import modern_error_data
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


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


def error_of(error: Exception) -> dict[str, Any]:
    """What a client is told about a failed request. The text of an error that nobody expected is only logged."""
    return modern_error_data(error).model_dump(mode="json", exclude_none=True)
