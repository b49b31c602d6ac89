"""Tools that send: each is declared by the function that writes its order. Asking the person and passing the gate are
the same for all, in every dialect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from postroom.doors.mcp import asking
from postroom.doors.mcp.toolbox import Toolset
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
            async def ask(gateway: Gateway, ctx: Context[Gateway, Any], **arguments: Any) -> asking.Question | None:
                from postroom.service.sending import send
                from postroom.service.views import SendView

                order = await write(gateway, **arguments)
                _written.set((arguments, order))
                if isinstance(order, SendView):
                    return None
                question = await send.question(gateway, _with_person(order, ctx, None))
                if question is not None and order.draft_ref:  # it may change while the person decides
                    _written.set(None)
                return question

            @wraps(write)
            async def tool(
                gateway: Gateway, ctx: Context[Gateway, Any], answer: asking.Answer | None, **arguments: Any
            ) -> CallToolResult:
                from postroom.service.sending import send
                from postroom.service.views import SendView

                order = _taken(arguments) or await write(gateway, **arguments)
                if isinstance(order, SendView):  # a repeated call, already answered
                    return self.worded(order, None)
                return self.worded(await send.send(gateway, _with_person(order, ctx, answer)), order)

            del tool.__annotations__["return"]  # an Order is only imported when one is written
            self.toolset.tool(title, returns=self.returns, destructive=True, open_world=True, asks=ask)(tool)
            return write

        return declare


def _taken(arguments: dict[str, Any]) -> Order | SendView | None:
    """The order written for exactly these arguments, once."""
    written = _written.get()
    _written.set(None)
    return written[1] if written is not None and written[0] == arguments else None


def _with_person(order: Order, ctx: Context[Gateway, Any], answer: asking.Answer | None) -> Order:
    from postroom.service.sending.order import Answered

    said = Answered(answer.verdict, answer.send_id) if answer is not None else None
    return replace(order, wishes=replace(order.wishes, can_elicit=asking.can_ask(ctx), answer=said))
