"""Toolset `organise`: labels and folders."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.intentmail import results, shapes
from postroom.doors.mcp.dialects.intentmail.read import MessageId
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

toolset = Toolset("organise")

MessageIds = Annotated[list[str], Field(min_length=1, max_length=1000, description="message_ids, up to 1000")]


@toolset.tool("Apply label", returns=shapes.ActionResult, idempotent=True)
async def apply_label(
    gateway: Gateway,
    ctx: Context[Gateway, Any],
    message_ids: MessageIds,
    label: Annotated[str, Field(description="Label name or ID")],
) -> CallToolResult:
    """Add label to message(s)"""
    from postroom.service.organising import labels, organise

    name = await labels.name_of(gateway, label)
    view = await organise.set_label(gateway, message_ids, name, True, progress=ctx.report_progress)
    return results.action(view, "apply_label")


@toolset.tool("Move message", returns=shapes.ActionResult, idempotent=True)
async def move_message(
    gateway: Gateway,
    message_id: MessageId,
    destination: Annotated[str, Field(description="Label/folder name, or a role such as archive")],
) -> CallToolResult:
    """Move message to folder/label"""
    from postroom.service.organising import organise

    return results.action(await organise.move(gateway, [message_id], destination), "move_message")
