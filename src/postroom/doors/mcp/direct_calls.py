"""Plain tool calls over stdio, taken from the input before the SDK sees them.

On its way through the SDK a call passes three tasks and six rounds of the event loop, and is put into objects that none
of our tools look at. Here it gets one task. What a client notices stays as it is: the SDK's table of requests in
progress has the call, so that it can be cancelled, and whatever is no result is worded and written by the SDK.

Messages are handled in the order in which they came. So a message that goes to the SDK closes this way. A plain call
that has followed it through the SDK opens it again: by then the SDK has begun with everything before that call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse, RequestId
from pydantic_core import from_json, to_json

from postroom.doors.mcp.plain_calls import METHOD, PlainCalls
from postroom.doors.mcp.sdk_internals import Started

Ctx = ServerRequestContext[Any, Any]
Answer = Callable[[RequestId, bytes], Awaitable[None]]

_FIELDS = {"jsonrpc", "id", "method", "params"}
_MENTIONED = f'"{METHOD}"'  # nearly every line that calls a tool contains it like this


class DirectCalls:
    """Of one conversation. `asked` and `answer` are called with the id of each call that is taken, and with the line
    that answers it."""

    def __init__(self, plain_calls: PlainCalls, asked: Callable[[RequestId], None], answer: Answer) -> None:
        self._plain_calls, self._asked, self._answer = plain_calls, asked, answer
        self._last: Mapping[str, Any] | None = None  # parameters of the last message that went to the SDK
        self._like: Ctx | None = None  # while the way is open
        self._running: dict[asyncio.Task[None], Started] = {}
        plain_calls.on_call = self._arrived

    def takes(self, line: str) -> bool:
        """Whether the line was a plain call, which has its task now."""
        if self._like is None or _MENTIONED not in line or (request := self._plain(line)) is None:
            return False
        self._asked(request["id"])
        started = Started(self._like, request["id"], request["params"])
        task = asyncio.get_running_loop().create_task(self._run(started))
        self._running[task] = started
        task.add_done_callback(self._running.pop)
        return True

    def passed_on(self, item: SessionMessage | Exception) -> None:
        """To the SDK."""
        message = item.message if isinstance(item, SessionMessage) else None
        self._like, self._last = None, message.params if isinstance(message, JSONRPCRequest) else None

    async def end(self) -> None:
        """What is still running is cut off."""
        for started in self._running.values():
            started.scope.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*self._running, return_exceptions=True)

    def _arrived(self, ctx: Ctx) -> None:
        """A plain call has come through the SDK."""
        if ctx.params is not None and ctx.params is self._last:
            self._like, self._last = replace(ctx, params=None), None  # may be large, and are not needed

    def _plain(self, line: str) -> dict[str, Any] | None:
        """By the parser that the SDK uses."""
        try:
            found = from_json(line)
        except ValueError:
            return None
        is_plain = (
            isinstance(found, dict)
            and found.keys() == _FIELDS
            and found["jsonrpc"] == "2.0"
            and found["method"] == METHOD
            and type(found["id"]) in (int, str)
            and self._plain_calls.are_plain(found["params"])
        )
        return found if is_plain else None

    async def _run(self, call: Started) -> None:
        try:
            with call.scope:
                await self._handle(call)
        finally:  # what the tool waited for may have been cancelled, and not the call
            if not call.is_settled:
                await call.cut_off()

    async def _handle(self, call: Started) -> None:
        try:
            line = _line(call.number, await self._plain_calls.answer(call.ctx))
        except Exception as problem:  # noqa: BLE001
            await call.fail(problem)
            return
        finally:
            call.leave()
        if not call.is_settled:
            call.is_settled = True  # a line that is cut off is still written, and is the only answer
            await self._answer(call.number, line)


def _line(number: RequestId, result: Any) -> bytes:
    try:
        return to_json({"jsonrpc": "2.0", "id": number, "result": result}, inf_nan_mode="null") + b"\n"
    except Exception:  # noqa: BLE001 - for the error that the SDK would get
        whole = JSONRPCResponse(jsonrpc="2.0", id=number, result=result)
        return whole.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
