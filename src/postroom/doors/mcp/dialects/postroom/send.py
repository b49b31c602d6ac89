"""Toolset `send`: everything that sends. Each tool writes an order; the gate decides what happens to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import send_results, shapes
from postroom.doors.mcp.dialects.postroom.arguments import (
    AccountName,
    Addresses,
    DraftId,
    EmailId,
    Html,
    Identity,
    Importance,
    Inline,
    Limit,
    MoreAddresses,
    Offset,
    Paths,
    Template,
    Variables,
    listed,
    named,
)
from postroom.doors.mcp.sending import SendingTools
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.sending.order import Order, Wishes
    from postroom.service.views import SendView

toolset = Toolset("send")

Confirm = Annotated[bool, Field(strict=True, description="false: preview only. true: send what was previewed")]
Key = Annotated[str, Field(description="Calls with the same key send only once")]
SendAt = Annotated[str, Field(description="Send time, ISO 8601 with offset")]
RequireApproval = Annotated[bool, Field(description="Require a person's approval")]
_sending = SendingTools(toolset, shapes.Sent, lambda view, _: send_results.sent(view)).tool


@_sending("Send email")
async def send_email(
    gateway: Gateway,
    to: Addresses,
    subject: str | None = None,
    body: Annotated[str | None, Field(description="Plain text")] = None,
    cc: MoreAddresses = "",
    bcc: MoreAddresses = "",
    body_html: Html = "",
    attachments: Paths = [],  # noqa: B006 - read, never changed
    importance: Importance = "normal",
    identity: Identity = "",
    signature: bool = True,
    template: Template = "",
    variables: Variables = None,
    send_at: SendAt = "",
    save_to_sent_items: bool = True,
    require_approval: RequireApproval = False,
    idempotency_key: Key = "",
    confirm: Confirm = False,
    account: AccountName = "",
) -> Order:
    """Send a new email. Without confirm it only returns a preview: show it to the user before you confirm."""
    from postroom.service.sending import send
    from postroom.service.writing import composing, from_template

    from_template.require(template, subject=subject, body=body)
    request = composing.DraftRequest(
        *(listed(to), listed(cc), listed(bcc), subject or "", body or ""),
        *(body_html, listed(attachments), importance, identity),
        signature=signature,
    )
    request = await from_template.filled(gateway, request, template, variables)
    return await send.order_mail(
        gateway,
        request,
        _wishes(confirm, idempotency_key, send_at, save_to_sent_items, require_approval),
        named(account),
    )


@_sending("Reply to email")
async def reply_email(
    gateway: Gateway,
    email_id: EmailId,
    body: Annotated[str, Field(description="Plain text, without the quote")],
    reply_all: bool = False,
    quote: Annotated[bool, Field(description="Quote the original below")] = True,
    body_html: Html = "",
    attachments: Paths = [],  # noqa: B006 - read, never changed
    importance: Importance = "normal",
    identity: Identity = "",
    signature: bool = True,
    send_at: SendAt = "",
    save_to_sent_items: bool = True,
    require_approval: RequireApproval = False,
    idempotency_key: Key = "",
    confirm: Confirm = False,
    account: AccountName = "",
) -> Order:
    """Reply to an email in its thread. Without confirm it only returns a preview."""
    from postroom.service.sending import send
    from postroom.service.writing import composing

    request = composing.ReplyRequest(
        body, body_html, reply_all, listed(attachments), identity, quote, importance, signature=signature
    )
    wishes = _wishes(confirm, idempotency_key, send_at, save_to_sent_items, require_approval)
    return await send.order_reply(gateway, email_id, request, wishes, named(account))


@_sending("Forward email")
async def forward_email(
    gateway: Gateway,
    email_id: EmailId,
    to: Addresses,
    comment: Annotated[str, Field(description="Text above the forwarded email")] = "",
    cc: MoreAddresses = "",
    bcc: MoreAddresses = "",
    inline: Inline = False,
    importance: Importance = "normal",
    identity: Identity = "",
    send_at: SendAt = "",
    save_to_sent_items: bool = True,
    require_approval: RequireApproval = False,
    idempotency_key: Key = "",
    confirm: Confirm = False,
    account: AccountName = "",
) -> Order:
    """Forward a complete email, attachments included. Without confirm it only returns a preview."""
    from postroom.service.sending import send
    from postroom.service.writing import composing

    request = composing.ForwardRequest(listed(to), listed(cc), listed(bcc), comment, identity, importance, inline)
    wishes = _wishes(confirm, idempotency_key, send_at, save_to_sent_items, require_approval)
    return await send.order_forward(gateway, email_id, request, wishes, named(account))


@_sending("Send draft")
async def send_draft(
    gateway: Gateway,
    draft_id: DraftId,
    send_at: SendAt = "",
    save_to_sent_items: bool = True,
    require_approval: RequireApproval = False,
    idempotency_key: Key = "",
    confirm: Confirm = False,
    account: AccountName = "",
) -> Order | SendView:
    """Send a saved draft as it is. Without confirm it only returns a preview."""
    from postroom.service.sending import send

    wishes = _wishes(confirm, idempotency_key, send_at, save_to_sent_items, require_approval)
    return await send.order_draft(gateway, draft_id, wishes, named(account))


@toolset.tool("List outbox", returns=shapes.OutboxPage, read_only=True, idempotent=True)
async def list_outbox(
    gateway: Gateway,
    include_finished: bool = False,
    limit: Limit = 20,
    offset: Offset = 0,
    account: Annotated[str, Field(description="Default: every account")] = "",
) -> CallToolResult:
    """List sends that are queued, held, scheduled, waiting for a person or were not sent."""
    from postroom.service.sending import outbox

    page = await outbox.list_outbox(
        gateway, account=named(account), include_finished=include_finished, limit=limit, offset=offset
    )
    return send_results.outbox_page(page)


@toolset.tool("Cancel send", returns=shapes.Sent, destructive=True)
async def cancel_send(gateway: Gateway, send_id: Annotated[str, Field(description="Send id (s...)")]) -> CallToolResult:
    """Cancel a send that is held, scheduled or waiting for approval, before it goes out."""
    from postroom.service.sending import outbox

    return send_results.sent(await outbox.cancel_send(gateway, send_id))


def _wishes(confirm: bool, key: str, send_at: str, save_to_sent: bool, require_approval: bool) -> Wishes:
    from postroom.service.sending.order import Wishes, parse_time

    return Wishes(confirm, key, parse_time(send_at), save_to_sent, require_approval)
