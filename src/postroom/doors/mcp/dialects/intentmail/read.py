"""Toolset `read`: search, open, capabilities. Nothing here changes a message."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.intentmail import results, shapes
from postroom.doors.mcp.toolbox import Toolset
from postroom.model.query.text import MAX_LENGTH
from postroom.service.gateway import Gateway

toolset = Toolset("read")

MessageId = Annotated[str, Field(description="message_id, as search_messages shows it")]


@toolset.tool("Search messages", returns=shapes.MessageList, read_only=True, idempotent=True)
async def search_messages(
    gateway: Gateway,
    query: Annotated[
        str, Field(max_length=MAX_LENGTH, description='Words, "phrases", OR, -not, subject: in: is:unread')
    ],
    labels: Annotated[list[str], Field(description="Only with all of these labels")] = [],  # noqa: B006 - read only
    from_: Annotated[str, Field(description="Only from this address or name")] = "",
    to: Annotated[str, Field(description="Only to this address or name")] = "",
    has_attachment: Annotated[bool | None, Field(description="Only with, or only without attachments")] = None,
    after_date: Annotated[str, Field(description="ISO 8601: from this moment or day on")] = "",
    before_date: Annotated[str, Field(description="ISO 8601: before this moment or day")] = "",
    limit: Annotated[int, Field(ge=1, le=100)] = 50,
    offset: Annotated[int, Field(ge=0)] = 0,
) -> CallToolResult:
    """Search messages across all mailboxes with filters"""
    from postroom.service.reading import search
    from postroom.service.reading.filters import Filters

    filters = Filters(from_, to, "", tuple(labels), has_attachment, None, after_date, before_date)
    return results.message_list(await search.search_emails(gateway, query, limit=limit, offset=offset, filters=filters))


@toolset.tool("Get message", returns=shapes.Message, read_only=True, idempotent=True)
async def get_message(
    gateway: Gateway,
    message_id: MessageId,
    include_attachments: Annotated[
        bool, Field(description="With the content of attachments: small ones as base64, large ones as saved files")
    ] = False,
) -> CallToolResult:
    """Fetch full message with headers/body/attachments"""
    from postroom.service.reading import read

    whole = await read.read_whole(gateway, message_id)
    files = await read.download_all(gateway, message_id, whole.email.attachments) if include_attachments else {}
    return results.message(whole, files)


@toolset.tool("Get thread", returns=shapes.Thread, read_only=True, idempotent=True)
async def get_thread(
    gateway: Gateway,
    thread_id: Annotated[str, Field(description="thread_id, as search_messages shows it")],
    limit: Annotated[int, Field(ge=1, le=500, description="How many of the newest messages")] = 50,
) -> CallToolResult:
    """Fetch conversation thread with all messages"""
    from postroom.service.reading import read

    view = await read.get_thread(gateway, thread_id, limit=limit, body_format="text", max_chars=20_000)
    return results.thread(view, limit)


@toolset.tool("Get capabilities", returns=shapes.Capabilities, read_only=True, idempotent=True)
async def get_capabilities(gateway: Gateway) -> CallToolResult:
    """Report provider-specific capabilities"""
    from postroom.service.accounts import folders

    _, able = await folders.capabilities(gateway)
    return results.capabilities(able)
