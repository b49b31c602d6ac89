"""Toolset `calendar`: answer invitations. Reading them is what read_attachment does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from postroom.doors.mcp.dialects.postroom import send_results, shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, EmailId, named
from postroom.doors.mcp.dialects.postroom.send import Confirm, Key, RequireApproval
from postroom.doors.mcp.sending import SendingTools
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order

toolset = Toolset("calendar")
_sending = SendingTools(toolset, shapes.Sent, lambda view, _: send_results.sent(view)).tool


@_sending("Answer invitation")
async def answer_invitation(
    gateway: Gateway,
    email_id: EmailId,
    response: Literal["accept", "decline", "tentative"],
    comment: str = "",
    require_approval: RequireApproval = False,
    idempotency_key: Key = "",
    confirm: Confirm = False,
    account: AccountName = "",
) -> Order:
    """Answer the invitation in an email, to its organizer. Without confirm it only returns a preview."""
    from postroom.service.sending import invitation, order

    wishes = order.Wishes(confirm, idempotency_key, require_approval=require_approval)
    return await invitation.order_answer(gateway, email_id, response, comment, wishes, named(account))
