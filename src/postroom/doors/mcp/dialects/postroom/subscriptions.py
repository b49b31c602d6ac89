"""Toolset `subscriptions`: leave mailing lists. What leaves passes the gate, like every email."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from postroom.doors.mcp.dialects.postroom import send_results, shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, EmailId, named
from postroom.doors.mcp.dialects.postroom.send import Confirm, Key, RequireApproval
from postroom.doors.mcp.sending import SendingTools
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order

toolset = Toolset("subscriptions")
_sending = SendingTools(toolset, shapes.Sent, lambda view, _: send_results.sent(view)).tool


@_sending("Unsubscribe")
async def unsubscribe(
    gateway: Gateway,
    email_id: EmailId,
    method: Annotated[
        Literal["auto", "one_click", "email"], Field(description="auto: one click where offered")
    ] = "auto",
    require_approval: RequireApproval = False,
    idempotency_key: Key = "",
    confirm: Confirm = False,
    account: AccountName = "",
) -> Order:
    """Leave the mailing list of an email as its headers say. Without confirm it only returns a preview."""
    from postroom.service.sending import order, unsubscribe

    wishes = order.Wishes(confirm, idempotency_key, require_approval=require_approval)
    return await unsubscribe.order_unsubscribe(gateway, email_id, wishes, named(account), method)
