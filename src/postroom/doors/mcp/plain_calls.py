"""Tool calls as nearly all of them come: a name and arguments, in a conversation that began with a handshake.

The SDK checks the parameters of a call twice and passes over its result three times, once to bring it into the form of
the protocol's version. Results of tools have the same form in all versions with a handshake, and ours are built that
way. So these calls go to their handler at once, and everything else (other methods, questions to the user, versions
without a handshake) the usual way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ContentBlock, TextContent
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from postroom.doors.mcp.sdk_internals import connection_of

METHOD = "tools/call"
_NAMES = {"name", "arguments"}


class PlainCalls:
    """The outermost middleware of a server. `tools` are those that return a result and never a question."""

    def __init__(self, server: Server[Any], tools: Collection[str]) -> None:
        self._server = server
        self._tools = frozenset(tools)
        self.on_call: Callable[[ServerRequestContext[Any, Any]], None] = lambda ctx: None

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if not self._is_plain(ctx):
            return await call_next(ctx)
        self.on_call(ctx)
        return await self.answer(ctx)

    async def answer(self, ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
        """To a plain call."""
        entry = self._server.get_request_handler(METHOD)
        assert entry is not None
        result = await entry.handler(ctx, entry.params_type.model_validate(ctx.params, by_name=False))
        return as_sent(result) if isinstance(result, CallToolResult) else result

    def are_plain(self, params: Any) -> bool:
        """Whether these parameters are those of a plain call."""
        return (
            isinstance(params, Mapping)
            and params.keys() <= _NAMES
            and isinstance(name := params.get("name"), str)  # anything else may not even be compared
            and name in self._tools
            and isinstance(params.get("arguments", {}), dict)
        )

    def _is_plain(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        return (
            ctx.method == METHOD
            and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
            and self.are_plain(ctx.params)
            and connection_of(ctx).initialize_accepted
        )


def as_sent(result: CallToolResult) -> dict[str, Any]:
    """In the order of the protocol's schema."""
    sent: dict[str, Any] = {
        "content": [_block(block) for block in result.content],
        "isError": bool(result.is_error),
    }
    if result.structured_content is not None:
        sent["structuredContent"] = result.structured_content
    return sent


def _block(block: ContentBlock) -> Mapping[str, Any]:
    if type(block) is TextContent and block.annotations is None and block.meta is None:
        return {"text": block.text, "type": "text"}
    return dict(sorted(block.model_dump(by_alias=True, mode="json", exclude_none=True).items()))
