"""Toolset `vacation`: the provider's vacation reply. Switching it on passes the gate, like every email."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import send_results, shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, named
from postroom.doors.mcp.dialects.postroom.results import answer, plain
from postroom.doors.mcp.dialects.postroom.send import Confirm, Key, RequireApproval
from postroom.doors.mcp.dialects.postroom.text import set_apart
from postroom.doors.mcp.sending import SendingTools
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order
    from postroom.service.views import SendView, VacationView

toolset = Toolset("vacation")
_sending = SendingTools(toolset, shapes.Sent, lambda view, _: send_results.sent(view)).tool


@toolset.tool("Get vacation reply", returns=shapes.Vacation, read_only=True, idempotent=True)
async def get_vacation(gateway: Gateway, account: AccountName = "") -> CallToolResult:
    """Show the vacation reply (out of office): whether it is on, its text, from when to when."""
    from postroom.service.sending import vacation

    return _shown(await vacation.get_vacation(gateway, named(account)))


def _shown(view: VacationView) -> CallToolResult:
    period = f" from {view.start or 'now'} until {view.end or 'it is switched off'}" if view.enabled else ""
    state = "on" if view.enabled else "off"
    lines = [view.note or f"The vacation reply of account {view.account} is {state}{period}."]
    if view.subject or view.body:
        lines.append(set_apart(f"Subject: {view.subject}\n\n{view.body}"))
    return answer(plain(view), "\n".join(lines))


@_sending("Set vacation reply")
async def set_vacation(
    gateway: Gateway,
    enabled: Annotated[bool, Field(description="false: switch it off, with no other argument")],
    body: Annotated[str, Field(description="Plain text")] = "",
    subject: str = "",
    first_day: Annotated[str, Field(description="YYYY-MM-DD or a time with offset; empty: now")] = "",
    last_day: Annotated[str, Field(description="Included; empty: until switched off")] = "",
    require_approval: RequireApproval = False,
    idempotency_key: Key = "",
    confirm: Confirm = False,
    account: AccountName = "",
) -> Order | SendView:
    """Switch the vacation reply on or off. On, everybody who writes gets it: without confirm it only returns a preview.
    Switching it off takes effect at once and cannot be undone."""
    from postroom.service.sending import order, vacation

    request = vacation.VacationRequest(subject, body, first_day, last_day)
    if not enabled:
        return await vacation.stop_vacation(gateway, request, named(account))
    wishes = order.Wishes(confirm, idempotency_key, require_approval=require_approval)
    return await vacation.order_vacation(gateway, request, wishes, named(account))
