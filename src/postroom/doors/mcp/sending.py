"""Tools that send: each is declared by the function that writes its order. Asking the person and passing the gate are
the same for all, in every dialect."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from postroom.doors.mcp import asking
from postroom.doors.mcp.toolbox import Toolset
from postroom.model.errors import NotFound
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order
    from postroom.service.views import SendView

Writer = Callable[..., Awaitable["Order | SendView"]]
# How a dialect words what became of an order; None for a repeated call that was answered without one.
Worded = Callable[["SendView", "Order | None"], CallToolResult]
# The order this call's question was asked about: a call is one task, so the order need not be written twice.
_written: ContextVar[tuple[dict[str, Any], Order | SendView] | None] = ContextVar("written", default=None)


@dataclass(frozen=True, slots=True)
class SendingTools:
    toolset: Toolset
    returns: Any
    worded: Worded

    def tool(self, title: str) -> Callable[[Writer], Writer]:
        def declare(write: Writer) -> Writer:
            async def written(gateway: Gateway, arguments: dict[str, Any]) -> Order | SendView:
                try:
                    return await write(gateway, **arguments)
                except NotFound:
                    earlier = await _sent_before(gateway, write.__name__, arguments)
                    if earlier is None:
                        raise
                    return earlier

            async def ask(gateway: Gateway, ctx: Context[Gateway, Any], **arguments: Any) -> asking.Question | None:
                from postroom.service.sending import send
                from postroom.service.views import SendView

                order = await written(gateway, arguments)
                _written.set((arguments, order))
                if isinstance(order, SendView):
                    return None
                question = await send.question(gateway, _called(order, arguments, ctx, None))
                if question is not None and order.draft_ref:  # it may change while the person decides
                    _written.set(None)
                return question

            @wraps(write)
            async def tool(
                gateway: Gateway, ctx: Context[Gateway, Any], answer: asking.Answer | None, **arguments: Any
            ) -> CallToolResult:
                from postroom.service.sending import send
                from postroom.service.views import SendView

                order = _taken(arguments) or await written(gateway, arguments)
                if isinstance(order, SendView):  # a repeated call, already answered
                    return self.worded(order, None)
                return self.worded(await send.send(gateway, _called(order, arguments, ctx, answer)), order)

            del tool.__annotations__["return"]  # an Order is only imported when one is written
            self.toolset.tool(title, returns=self.returns, destructive=True, open_world=True, asks=ask)(tool)
            return write

        return declare


def _taken(arguments: dict[str, Any]) -> Order | SendView | None:
    """The order written for exactly these arguments, once."""
    written = _written.get()
    _written.set(None)
    return written[1] if written is not None and written[0] == arguments else None


def _called(
    order: Order, arguments: Mapping[str, Any], ctx: Context[Gateway, Any], answer: asking.Answer | None
) -> Order:
    """With the person in front of the client, and what the call was."""
    from postroom.service.sending.order import Answered

    said = Answered(answer.verdict, answer.send_id) if answer is not None else None
    call = _digest(arguments)
    return replace(order, wishes=replace(order.wishes, can_elicit=asking.can_ask(ctx), answer=said, call_sha256=call))


async def _sent_before(gateway: Gateway, tool: str, arguments: Mapping[str, Any]) -> SendView | None:
    from postroom.service.sending import send

    key = arguments.get("idempotency_key") if arguments.get("confirm") else ""
    return await send.sent_by(gateway, tool, key, _digest(arguments)) if key else None


def _digest(arguments: Mapping[str, Any]) -> str:
    """Of a call with a key: no other is ever looked for."""
    if not arguments.get("idempotency_key"):
        return ""
    given = {name: value for name, value in arguments.items() if name != "confirm"}
    return hashlib.sha256(repr(sorted(given.items())).encode()).hexdigest()
