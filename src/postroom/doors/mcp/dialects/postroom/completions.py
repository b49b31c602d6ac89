"""Completions for prompt arguments and resource templates: accounts by name, and the newest messages of one."""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp_types import CompleteRequestParams, CompleteResult, Completion

from postroom.doors.mcp.sdk_internals import lowlevel_server
from postroom.model.errors import PostroomError
from postroom.service.gateway import Gateway

MOST = 100  # what the protocol allows in one response
_NEWEST = 50  # messages looked at for an id


def register(server: MCPServer[Gateway]) -> None:
    lowlevel_server(server).add_request_handler("completion/complete", CompleteRequestParams, complete)


async def complete(ctx: ServerRequestContext[Gateway, Any], params: CompleteRequestParams) -> CompleteResult:
    """An account that cannot be asked completes nothing: a half-typed word is no reason for an error."""
    gateway, argument = ctx.lifespan_context, params.argument
    known = (params.context.arguments if params.context else None) or {}
    try:
        values = await _values(gateway, argument.name, known.get("account", ""))
    except PostroomError:
        values = []
    typed = argument.value.casefold()
    fitting = [value for value in values if value.casefold().startswith(typed)]
    return CompleteResult(
        completion=Completion(values=fitting[:MOST], total=len(fitting), has_more=len(fitting) > MOST)
    )


async def _values(gateway: Gateway, name: str, account: str) -> list[str]:
    if name == "account":
        return [configured.name for configured in gateway.accounts.configured]
    if name == "email_id":
        from postroom.service.reading import search

        page = await search.list_emails(gateway, account=account or None, limit=_NEWEST)
        return [row.email_id for row in page.results]
    return []
