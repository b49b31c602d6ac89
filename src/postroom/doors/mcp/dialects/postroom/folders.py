"""Toolset `folders`: folders and labels themselves, rather than the messages in them."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import results, shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, named
from postroom.doors.mcp.dialects.postroom.organise import Call, Label
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

toolset = Toolset("folders")


@toolset.tool("Delete folder", returns=shapes.CreatedFolder, destructive=True)
async def delete_folder(
    gateway: Gateway, name: Annotated[str, Field(description="Full name")], account: AccountName = ""
) -> CallToolResult:
    """Delete an empty folder. Inbox, Sent, Drafts and the like cannot be deleted."""
    from postroom.service.organising import arranging

    view, operation_id = await arranging.delete_folder(gateway, name, account=named(account))
    return results.created_folder(view, operation_id, "Deleted")


@toolset.tool("Rename folder", returns=shapes.CreatedFolder)
async def rename_folder(
    gateway: Gateway,
    name: Annotated[str, Field(description="Full name")],
    new_name: Annotated[str, Field(description="Last level only")],
    account: AccountName = "",
) -> CallToolResult:
    """Rename a folder in place; folders below follow. Inbox, Sent, Drafts and the like cannot be renamed."""
    from postroom.service.organising import renaming

    view, operation_id = await renaming.rename_folder(gateway, name, new_name, account=named(account))
    return results.created_folder(view, operation_id, "Renamed")


@toolset.tool("List labels", returns=shapes.Labels, read_only=True, idempotent=True)
async def list_labels(gateway: Gateway, account: AccountName = "") -> CallToolResult:
    """List the labels of an account."""
    from postroom.service.organising import arranging

    return results.labels(*await arranging.list_labels(gateway, account=named(account)))


@toolset.tool("Rename label", returns=shapes.Written)
async def rename_label(
    gateway: Gateway, ctx: Call, label: Label, new_name: str, account: AccountName = ""
) -> CallToolResult:
    """Rename a label: every email that has it gets the new one instead."""
    from postroom.service.organising import arranging

    view = await arranging.rename_label(gateway, label, new_name, account=named(account), progress=ctx.report_progress)
    return results.written(view, f"labelled {new_name}")


@toolset.tool("Delete label", returns=shapes.Written, destructive=True)
async def delete_label(gateway: Gateway, ctx: Call, label: Label, account: AccountName = "") -> CallToolResult:
    """Delete a label: it is removed from every email, and no email is deleted."""
    from postroom.service.organising import arranging

    view = await arranging.delete_label(gateway, label, account=named(account), progress=ctx.report_progress)
    return results.written(view, "now without the label")
