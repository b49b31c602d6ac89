"""Deleting, moving and marking: one email, or several at once."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.mailapi import wording
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

organising = Toolset("organise")
batches = Toolset("organise")

Ids = Annotated[list[str], Field(min_length=1, max_length=1000, description="IDs of the emails")]
Flag = Annotated[Literal["read", "unread", "starred", "unstarred"], Field(description="Flag to set")]
Destination = Annotated[str, Field(description="Destination mailbox name (e.g., 'Archive', 'Work')")]


@organising.tool("Delete email", destructive=True, idempotent=True)
async def delete_email(
    gateway: Gateway, email_id: Annotated[str, Field(description="ID of the email to delete")]
) -> CallToolResult:
    """Delete an email by moving it to Trash. IMPORTANT: Confirm with user before deleting."""
    from postroom.service.organising import organise

    return wording.changed(await organise.delete(gateway, [email_id]), "moved to Trash")


@organising.tool("Move email", idempotent=True)
async def move_email(
    gateway: Gateway, email_id: Annotated[str, Field(description="ID of the email to move")], to_mailbox: Destination
) -> CallToolResult:
    """Move an email to a different mailbox/folder."""
    from postroom.service.organising import organise

    return wording.changed(await organise.move(gateway, [email_id], to_mailbox), f"moved to {to_mailbox}")


@organising.tool("Mark email", idempotent=True)
async def mark_email(
    gateway: Gateway, email_id: Annotated[str, Field(description="ID of the email to mark")], flag: Flag
) -> CallToolResult:
    """Mark an email with flags (read, starred, etc.)."""
    from postroom.service.organising import organise

    return wording.changed(await organise.mark(gateway, [email_id], flag), f"marked as {flag}")


@batches.tool("Delete emails", destructive=True, idempotent=True)
async def delete_emails(gateway: Gateway, email_ids: Ids) -> CallToolResult:
    """Move several emails to Trash. IMPORTANT: Confirm with user before deleting."""
    from postroom.service.organising import organise

    return wording.all_changed(await organise.delete(gateway, email_ids), "moved to Trash")


@batches.tool("Move emails", idempotent=True)
async def move_emails(gateway: Gateway, email_ids: Ids, to_mailbox: Destination) -> CallToolResult:
    """Move several emails to a different mailbox/folder."""
    from postroom.service.organising import organise

    return wording.all_changed(await organise.move(gateway, email_ids, to_mailbox), f"moved to {to_mailbox}")


@batches.tool("Mark emails", idempotent=True)
async def mark_emails(gateway: Gateway, email_ids: Ids, flag: Flag) -> CallToolResult:
    """Mark several emails as read, unread, starred or unstarred."""
    from postroom.service.organising import organise

    return wording.all_changed(await organise.mark(gateway, email_ids, flag), f"marked as {flag}")
