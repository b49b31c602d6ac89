"""Plain tool calls over stdio, taken from the input before the SDK sees them.

On its way through the SDK a call passes two more tasks and four rounds of the event loop, and is put into objects that
none of our tools look at. What decides how a call ends (its task, how it is cancelled, how an error is worded, what
happens when the input ends) stays with the SDK: its dispatcher gets the call at the point where it would have started
the task.

Messages are handled in the order in which they came. So a message that goes to the SDK closes this way. A plain call
that has followed it through the SDK opens it again: by then the SDK has begun with everything before that call.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest
from pydantic_core import from_json

from postroom.doors.mcp.plain_calls import METHOD, PlainCalls
from postroom.doors.mcp.sdk_internals import context_like, dispatch
from postroom.doors.mcp.unanswered import Unanswered

Ctx = ServerRequestContext[Any, Any]

_FIELDS = {"jsonrpc", "id", "method", "params"}
_MENTIONED = f'"{METHOD}"'  # nearly every line that calls a tool contains it like this


class DirectCalls:
    """Of one conversation."""

    def __init__(self, plain_calls: PlainCalls, unanswered: Unanswered) -> None:
        self._plain_calls, self._unanswered = plain_calls, unanswered
        self._last: Mapping[str, Any] | None = None  # parameters of the last message that went to the SDK
        self._like: Ctx | None = None  # while the way is open
        plain_calls.on_call = self._arrived

    async def takes(self, line: str) -> bool:
        """Whether the line was a plain call and will be answered."""
        if self._like is None or _MENTIONED not in line or (request := self._plain(line)) is None:
            return False
        self._unanswered.asked(request.id)
        await dispatch(self._like, request, partial(self._answer, self._like))
        return True

    def passed_on(self, item: SessionMessage | Exception) -> None:
        """To the SDK."""
        message = item.message if isinstance(item, SessionMessage) else None
        self._like, self._last = None, message.params if isinstance(message, JSONRPCRequest) else None

    def _arrived(self, ctx: Ctx) -> None:
        """A plain call has come through the SDK."""
        if ctx.params is not None and ctx.params is self._last:
            self._like = ctx

    def _plain(self, line: str) -> JSONRPCRequest | None:
        try:
            found = from_json(line)
        except ValueError:
            return None
        if not isinstance(found, dict) or found.keys() != _FIELDS or found["jsonrpc"] != "2.0":
            return None
        number, params = found["id"], found["params"]
        if type(number) not in (int, str) or found["method"] != METHOD or not self._plain_calls.are_plain(params):
            return None
        return JSONRPCRequest(jsonrpc="2.0", id=number, method=METHOD, params=params)

    async def _answer(
        self, like: Ctx, dctx: DispatchContext[Any], _method: str, params: Mapping[str, Any] | None
    ) -> Any:
        return await self._plain_calls.answer(context_like(like, dctx, params))
