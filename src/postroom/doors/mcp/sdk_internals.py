"""What is used of the MCP SDK that it does not offer in public: here alone, so that a new version is checked in one go.

Seen in mcp 2.3.0. `tests/unit/doors/mcp/test_sdk_internals.py` fails when one of these is no longer what it was.
"""

from __future__ import annotations

from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool


def lowlevel_server(server: MCPServer[Any]) -> Server[Any]:
    """The protocol's server inside: for methods that MCPServer has no decorator for, and to run on streams of ours."""
    return server._lowlevel_server


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection a request came by: what belongs to it ends with it."""
    return ctx.session._connection


def declare_output(tool: Tool, schema: dict[str, Any]) -> None:
    """A schema of our own writing for structured content that the tool itself makes; the SDK would derive one from the
    return type, and check every answer against it by a model."""
    tool.fn_metadata.output_schema = schema
