"""Listing, searching and opening emails; their attachments."""

from __future__ import annotations

import re
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.mailapi import wording
from postroom.doors.mcp.toolbox import Toolset
from postroom.model.errors import InvalidRequest
from postroom.service.gateway import Gateway

_PHRASE_OR_WORD = re.compile(r'"([^"]+)"|(\S+)')

reading = Toolset("read")
attachments = Toolset("read")


@reading.tool("List emails", read_only=True, idempotent=True)
async def list_emails(
    gateway: Gateway,
    mailbox: Annotated[str, Field(description="Mailbox name (INBOX, Sent, Drafts, Trash, or custom folder)")] = "INBOX",
    limit: Annotated[int, Field(ge=1, le=100, description="Maximum number of emails to return (1-100)")] = 20,
    unread_only: Annotated[bool, Field(description="If true, only return unread emails")] = False,
) -> CallToolResult:
    """List emails from a specific mailbox. Returns a summary of recent emails with sender, subject, date, and preview."""  # noqa: E501
    from postroom.service.reading import search

    page = await search.list_emails(gateway, mailbox=mailbox, limit=limit, unread_only=unread_only)
    return wording.summary(gateway, page, unread_in=mailbox if unread_only else "")


@reading.tool("Read email", read_only=True, idempotent=True)
async def read_email(
    gateway: Gateway, email_id: Annotated[str, Field(description="The unique ID of the email to read")]
) -> CallToolResult:
    """Read the full content of a specific email by its ID. Returns the complete email body."""
    from postroom.service.reading import read, rendering

    email = await read.read_email(
        gateway,
        email_id,
        body_format="text",
        include_quoted=True,
        max_chars=rendering.MAX_BODY_CHARS,
        content_only=True,
    )
    return wording.opened(gateway, email)


@reading.tool("Search emails", read_only=True, idempotent=True)
async def search_emails(
    gateway: Gateway,
    query: Annotated[str, Field(description="Search query (keywords)")],
    mailbox: Annotated[str, Field(description="Mailbox to search in (optional, searches all if not specified)")] = "",
    limit: Annotated[int, Field(description="Maximum results to return")] = 20,
    from_address: Annotated[str, Field(description="Only from this address or name")] = "",
    to_address: Annotated[str, Field(description="Only to this address or name")] = "",
    subject: Annotated[str, Field(description="Only with this in the subject")] = "",
    after: Annotated[str, Field(description="Only from this date on (2026-01-31)")] = "",
    before: Annotated[str, Field(description="Only before this date")] = "",
    unread_only: Annotated[bool, Field(description="Only unread emails")] = False,
    has_attachment: Annotated[bool, Field(description="Only emails with attachments")] = False,
) -> CallToolResult:
    """Search emails by keywords. Searches in subject, sender, and body."""
    from postroom.service.reading import search
    from postroom.service.reading.filters import Filters

    given = (has_attachment or None, unread_only or None, after, before)
    filters = Filters(from_address, to_address, subject, (), *given)
    words = _keywords(query, may_be_empty=filters != Filters())
    page = await search.search_emails(gateway, words, mailbox=mailbox or None, limit=limit, filters=filters)
    return wording.summary(gateway, page)


def _keywords(query: str, *, may_be_empty: bool) -> str:
    """Every word, and every phrase in quotes, as it is: in this contract nothing is an operator."""
    found = [phrase or word for phrase, word in _PHRASE_OR_WORD.findall(query)]
    kept = [text.replace('"', " ") for text in found if any(map(str.isalnum, text))]
    if not kept and not may_be_empty:
        raise InvalidRequest("query has no word to search for. Write one or more keywords.", details={"field": "query"})
    return " ".join(f'"{text}"' for text in kept)


@attachments.tool("List attachments", read_only=True, idempotent=True)
async def list_attachments(
    gateway: Gateway, email_id: Annotated[str, Field(description="ID of the email")]
) -> CallToolResult:
    """List the attachments of an email with their IDs."""
    from postroom.service.reading import read

    return wording.attachments(await read.list_attachments(gateway, email_id))


@attachments.tool("Get attachment", read_only=True, idempotent=True)
async def get_attachment(
    gateway: Gateway,
    email_id: Annotated[str, Field(description="ID of the email")],
    attachment_id: Annotated[str, Field(description="ID of the attachment, as list_attachments shows it")],
    as_base64: Annotated[bool, Field(description="Return the content (up to 64 KB) instead of saving a file")] = False,
) -> CallToolResult:
    """Save an attachment to the download folder of the server, or return a small one."""
    from postroom.service.reading import read

    return wording.attachment(await read.download_attachment(gateway, email_id, attachment_id, as_base64=as_base64))
