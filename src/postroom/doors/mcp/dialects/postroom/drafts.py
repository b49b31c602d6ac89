"""Toolset `drafts`: messages written and saved for a person to review. Nothing here can send."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import results, shapes
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
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

toolset = Toolset("drafts")


@toolset.tool("List drafts", returns=shapes.DraftPage, read_only=True, idempotent=True)
async def list_drafts(
    gateway: Gateway, limit: Limit = 20, offset: Offset = 0, account: AccountName = ""
) -> CallToolResult:
    """List saved drafts, newest first."""
    from postroom.service.writing import draft

    return results.draft_page(await draft.list_drafts(gateway, account=named(account), limit=limit, offset=offset))


@toolset.tool("Create draft", returns=shapes.Draft)
async def create_draft(
    gateway: Gateway,
    to: Addresses = "",
    subject: str = "",
    body: Annotated[str, Field(description="Plain text")] = "",
    cc: MoreAddresses = "",
    bcc: MoreAddresses = "",
    body_html: Html = "",
    attachments: Paths = [],  # noqa: B006 - read, never changed
    importance: Importance = "normal",
    identity: Identity = "",
    signature: bool = True,
    template: Template = "",
    variables: Variables = None,
    account: AccountName = "",
) -> CallToolResult:
    """Save a new email as a draft. It is not sent."""
    from postroom.service.writing import composing, draft, from_template

    request = composing.DraftRequest(
        *(listed(to), listed(cc), listed(bcc), subject, body, body_html, listed(attachments), importance, identity),
        signature=signature,
    )
    request = await from_template.filled(gateway, request, template, variables)
    return results.draft(await draft.create_draft(gateway, request, account=named(account)), "saved")


@toolset.tool("Draft reply", returns=shapes.Draft)
async def draft_reply(
    gateway: Gateway,
    email_id: EmailId,
    body: Annotated[str, Field(description="Plain text, without the quote")],
    reply_all: bool = False,
    quote: Annotated[bool, Field(description="Quote the original below")] = True,
    body_html: Html = "",
    attachments: Paths = [],  # noqa: B006 - read, never changed
    identity: Identity = "",
    signature: bool = True,
    account: AccountName = "",
) -> CallToolResult:
    """Save a reply to an email as a draft in its thread. It is not sent."""
    from postroom.service.writing import composing, draft

    request = composing.ReplyRequest(
        body, body_html, reply_all, listed(attachments), identity, quote, signature=signature
    )
    return results.draft(await draft.draft_reply(gateway, email_id, request, account=named(account)), "saved")


@toolset.tool("Draft forward", returns=shapes.Draft)
async def draft_forward(
    gateway: Gateway,
    email_id: EmailId,
    to: Addresses,
    comment: Annotated[str, Field(description="Text above the forwarded email")] = "",
    cc: MoreAddresses = "",
    bcc: MoreAddresses = "",
    inline: Inline = False,
    identity: Identity = "",
    account: AccountName = "",
) -> CallToolResult:
    """Save a forward of an email as a draft, the complete original attached. It is not sent."""
    from postroom.service.writing import composing, draft

    request = composing.ForwardRequest(listed(to), listed(cc), listed(bcc), comment, identity, inline=inline)
    return results.draft(await draft.draft_forward(gateway, email_id, request, account=named(account)), "saved")


@toolset.tool("Update draft", returns=shapes.Draft, destructive=True, idempotent=True)
async def update_draft(
    gateway: Gateway,
    draft_id: DraftId,
    to: Addresses | None = None,
    subject: str | None = None,
    body: Annotated[str | None, Field(description="Replaces all text, quotes too")] = None,
    cc: MoreAddresses | None = None,
    bcc: MoreAddresses | None = None,
    body_html: str | None = None,
    attachments: Annotated[list[str] | None, Field(description="Replaces all attachments")] = None,
    importance: Importance | None = None,
    identity: str | None = None,
    account: AccountName = "",
) -> CallToolResult:
    """Update a draft: only the given fields are replaced. The id stays the same."""
    from postroom.service.writing import draft

    lists = {"to": to, "cc": cc, "bcc": bcc, "attachments": attachments}
    changes = draft.DraftChanges(
        subject=subject,
        body=body,
        body_html=body_html,
        importance=importance,
        identity=identity,
        **{name: None if value is None else listed(value) for name, value in lists.items()},
    )
    return results.draft(await draft.update_draft(gateway, draft_id, changes, account=named(account)), "updated")


@toolset.tool("Delete draft", returns=shapes.Deleted, destructive=True, idempotent=True)
async def delete_draft(gateway: Gateway, draft_id: DraftId, account: AccountName = "") -> CallToolResult:
    """Move a draft to the trash."""
    from postroom.service.writing import draft

    return results.deleted_draft(draft_id, await draft.delete_draft(gateway, draft_id, account=named(account)))
