"""Toolset `organise`: flags, folders, labels, trash, undo. One message or many, with a result for each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import results, shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, EmailIds, listed, named
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

toolset = Toolset("organise")

Label = Annotated[str, Field(description="Label name")]
Call = Context[Gateway, Any]


@toolset.tool("Mark email", returns=shapes.Written, idempotent=True)
async def mark_email(
    gateway: Gateway,
    ctx: Call,
    email_id: EmailIds,
    flag: Literal["read", "unread", "starred", "unstarred"],
    account: AccountName = "",
) -> CallToolResult:
    """Mark emails as read, unread, starred or unstarred."""
    from postroom.service.organising import organise

    view = await organise.mark(gateway, listed(email_id), flag, account=named(account), progress=ctx.report_progress)
    return results.written(view, f"marked {flag}")


@toolset.tool("Move email", returns=shapes.Written, idempotent=True)
async def move_email(
    gateway: Gateway,
    ctx: Call,
    email_id: EmailIds,
    to_mailbox: Annotated[str, Field(description="Folder by name or role (archive, junk, ...)")],
    account: AccountName = "",
) -> CallToolResult:
    """Move emails to a folder in their account. Their ids stay valid."""
    from postroom.service.organising import organise

    view = await organise.move(
        gateway, listed(email_id), to_mailbox, account=named(account), progress=ctx.report_progress
    )
    return results.written(view, "moved")


@toolset.tool("Apply label", returns=shapes.Written, idempotent=True)
async def apply_label(
    gateway: Gateway, ctx: Call, email_id: EmailIds, label: Label, account: AccountName = ""
) -> CallToolResult:
    """Apply a label to emails; it is created if it does not exist yet."""
    from postroom.service.organising import organise

    view = await organise.set_label(
        gateway, listed(email_id), label, True, account=named(account), progress=ctx.report_progress
    )
    return results.written(view, "labelled")


@toolset.tool("Remove label", returns=shapes.Written, idempotent=True)
async def remove_label(
    gateway: Gateway, ctx: Call, email_id: EmailIds, label: Label, account: AccountName = ""
) -> CallToolResult:
    """Remove a label from emails."""
    from postroom.service.organising import organise

    view = await organise.set_label(
        gateway, listed(email_id), label, False, account=named(account), progress=ctx.report_progress
    )
    return results.written(view, "now without the label")


@toolset.tool("Delete email", returns=shapes.Written, destructive=True, idempotent=True)
async def delete_email(gateway: Gateway, ctx: Call, email_id: EmailIds, account: AccountName = "") -> CallToolResult:
    """Move emails to the trash. Nothing is permanently deleted."""
    from postroom.service.organising import organise

    view = await organise.delete(gateway, listed(email_id), account=named(account), progress=ctx.report_progress)
    return results.written(view, "moved to the trash")


@toolset.tool("Create folder", returns=shapes.CreatedFolder)
async def create_folder(
    gateway: Gateway,
    name: Annotated[str, Field(description="Full name; / separates levels")],
    account: AccountName = "",
) -> CallToolResult:
    """Create a folder and any missing parents."""
    from postroom.service.organising import organise

    return results.created_folder(*await organise.create_folder(gateway, name, account=named(account)))


@toolset.tool("Undo", returns=shapes.Undone)
async def undo(
    gateway: Gateway, operation_id: Annotated[str, Field(description="Returned by the change (o...)")]
) -> CallToolResult:
    """Reverse a change made by these tools. Emails changed again since then are left alone and reported."""
    from postroom.service.organising import organise

    return results.undone(await organise.undo(gateway, operation_id))
