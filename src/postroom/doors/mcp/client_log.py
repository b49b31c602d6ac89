"""Log messages for clients that asked for them with `logging/setLevel`: the log line of each of their tool calls.

Protocol version 2026-07-28 has no such request. Clients of earlier versions expect it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, get_args

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequestParams,
)

from postroom.doors.mcp.log import log
from postroom.doors.mcp.sdk_internals import connection_of, lowlevel_server
from postroom.service.gateway import Gateway

_LEVEL = "postroom.log_level"  # in a connection's state
_LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)  # the least severe first


def register(server: MCPServer[Gateway]) -> None:
    lowlevel_server(server).add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)


async def _set_level(ctx: ServerRequestContext[Gateway, Any], params: SetLevelRequestParams) -> EmptyResult:
    connection_of(ctx).state[_LEVEL] = params.level
    return EmptyResult()


async def tell(context: Context[Gateway, Any] | None, level: LoggingLevel, line: Mapping[str, Any]) -> None:
    """On the stream of the request, before its response. A client that is gone misses it."""
    if context is None:
        return
    ctx = context.request_context
    wanted: LoggingLevel | None = connection_of(ctx).state.get(_LEVEL)
    if wanted is None or _LEVELS.index(level) < _LEVELS.index(wanted):
        return
    params = LoggingMessageNotificationParams(level=level, logger=log.name, data={"event": "tool_call", **line})
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await ctx.session.send_notification(LoggingMessageNotification(params=params), context.request_id)
