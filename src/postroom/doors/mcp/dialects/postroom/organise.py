"""Toolset `organise`: flags, folders, labels, trash, and the way back. One mail or many, an answer for each."""

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

Label = Annotated[str, Field(description="Name of the label")]
Call = Context[Gateway, Any]


@toolset.tool("Mark email", returns=shapes.Written, idempotent=True)
async def mark_email(
    gateway: Gateway,
    ctx: Call,
    email_id: EmailIds,
    flag: Literal["read", "unread", "starred", "unstarred"],
    account: AccountName = "",
) -> CallToolResult:
    """Mark mails as read, unread, starred or unstarred."""
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
    """Move mails to a folder of their account. Their ids stay valid."""
    from postroom.service.organising import organise

    view = await organise.move(
        gateway, listed(email_id), to_mailbox, account=named(account), progress=ctx.report_progress
    )
    return results.written(view, "moved")


@toolset.tool("Apply label", returns=shapes.Written, idempotent=True)
async def apply_label(
    gateway: Gateway, ctx: Call, email_id: EmailIds, label: Label, account: AccountName = ""
) -> CallToolResult:
    """Put a label on mails; it is created where it does not exist yet."""
    from postroom.service.organising import organise

    view = await organise.apply_label(
        gateway, listed(email_id), label, account=named(account), progress=ctx.report_progress
    )
    return results.written(view, "labelled")


@toolset.tool("Remove label", returns=shapes.Written, idempotent=True)
async def remove_label(
    gateway: Gateway, ctx: Call, email_id: EmailIds, label: Label, account: AccountName = ""
) -> CallToolResult:
    """Take a label off mails."""
    from postroom.service.organising import organise

    view = await organise.remove_label(
        gateway, listed(email_id), label, account=named(account), progress=ctx.report_progress
    )
    return results.written(view, "without the label now")


@toolset.tool("Delete email", returns=shapes.Written, destructive=True, idempotent=True)
async def delete_email(gateway: Gateway, ctx: Call, email_id: EmailIds, account: AccountName = "") -> CallToolResult:
    """Move mails to the trash. Nothing is erased for good."""
    from postroom.service.organising import organise

    view = await organise.delete(gateway, listed(email_id), account=named(account), progress=ctx.report_progress)
    return results.written(view, "moved to the trash")


@toolset.tool("Create folder", returns=shapes.CreatedFolder)
async def create_folder(
    gateway: Gateway,
    name: Annotated[str, Field(description="Full name; / separates levels")],
    account: AccountName = "",
) -> CallToolResult:
    """Create a folder, missing parents included."""
    from postroom.service.organising import organise

    return results.created_folder(*await organise.create_folder(gateway, name, account=named(account)))


@toolset.tool("Undo", returns=shapes.Undone)
async def undo(
    gateway: Gateway, operation_id: Annotated[str, Field(description="From the answer of the change (o...)")]
) -> CallToolResult:
    """Reverse a change made by these tools. Mails that were changed again since are left alone and reported."""
    from postroom.service.organising import organise

    return results.undone(await organise.undo(gateway, operation_id))
