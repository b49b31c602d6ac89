"""Toolset `read`: list, search and read. Nothing here changes a message, not even its unread flag."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import results, shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, EmailId, FewEmailIds, Limit, Offset, named
from postroom.doors.mcp.toolbox import Toolset
from postroom.model.query.text import MAX_LENGTH
from postroom.service.gateway import Gateway

toolset = Toolset("read")

AccountOrAll = Annotated[str, Field(description="Account, or all; default: the first")]
Mailbox = Annotated[str, Field(description="Folder by name or role: inbox, sent, drafts, archive, junk, trash")]
QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_LENGTH,
        description='Words, "phrases", OR, -not, from: to: cc: subject: in: label: filename: has:attachment is:unread '
        "is:starred after:YYYY-MM-DD before: newer_than:7d older_than: larger:5M",
    ),
]
MaxChars = Annotated[int, Field(ge=1, le=200_000)]


@toolset.tool("List accounts", returns=shapes.Accounts, read_only=True, idempotent=True)
async def list_accounts(gateway: Gateway, check: bool = False) -> CallToolResult:
    """List the email accounts; the first is the default. check=true connects to each and reports failures."""
    from postroom.service.accounts import folders

    return results.accounts(await folders.list_accounts(gateway, check=check))


@toolset.tool("Get capabilities", returns=shapes.Capabilities, read_only=True, idempotent=True)
async def get_capabilities(gateway: Gateway, account: AccountName = "") -> CallToolResult:
    """Show what an account can do: drafts, sending, labels, folders, threads, limits."""
    from postroom.service.accounts import folders

    found = await folders.capabilities(gateway, named(account))
    return results.capabilities(*found, gateway.settings.server.toolsets)


@toolset.tool("List folders", returns=shapes.Folders, read_only=True, idempotent=True)
async def list_folders(gateway: Gateway, account: AccountName = "") -> CallToolResult:
    """List the folders of an account with roles and counts."""
    from postroom.service.accounts import folders

    return results.folders(await folders.list_folders(gateway, named(account)))


@toolset.tool("List emails", returns=shapes.EmailPage, read_only=True, idempotent=True)
async def list_emails(
    gateway: Gateway,
    mailbox: Mailbox = "INBOX",
    unread_only: bool = False,
    limit: Limit = 20,
    offset: Offset = 0,
    account: AccountOrAll = "",
) -> CallToolResult:
    """List the emails in a folder, newest first. Use search_emails to search by content."""
    from postroom.service.reading import search

    page = await search.list_emails(
        gateway, account=named(account), mailbox=mailbox, limit=limit, offset=offset, unread_only=unread_only
    )
    return results.email_page(page, with_account=account == "all")


@toolset.tool("Search emails", returns=shapes.FoundEmails, read_only=True, idempotent=True)
async def search_emails(
    gateway: Gateway,
    query: QueryText,
    mailbox: Annotated[str, Field(description="Only this folder; default: all except junk and trash")] = "",
    limit: Limit = 20,
    offset: Offset = 0,
    account: AccountOrAll = "",
) -> CallToolResult:
    """Search emails, newest first. Filters a provider cannot apply are listed in filters_not_applied."""
    from postroom.service.reading import search

    page = await search.search_emails(
        gateway, query, account=named(account), mailbox=mailbox or None, limit=limit, offset=offset
    )
    return results.email_page(page, with_account=account == "all")


@toolset.tool("Read email", returns=shapes.Email | shapes.Emails, read_only=True, idempotent=True)
async def read_email(
    gateway: Gateway,
    email_id: FewEmailIds,
    body_format: Literal["markdown", "text", "html", "links", "raw"] = "markdown",
    include_quoted: Annotated[bool, Field(description="Include quoted history")] = False,
    max_chars: MaxChars = 3500,
    offset: Annotated[int, Field(ge=0, description="Start position in the body")] = 0,
    account: AccountName = "",
) -> CallToolResult:
    """Read emails: headers, sender checks, body, attachments. They stay unread; use mark_email to change that."""
    from postroom.service.reading import several
    from postroom.service.reading.rendering import Reading

    reading = Reading(body_format, include_quoted, max_chars, offset)
    if isinstance(email_id, str):
        return results.open_email(await several.read_one(gateway, email_id, reading, account=named(account)))
    return results.open_emails(await several.read_emails(gateway, email_id, reading, account=named(account)))


@toolset.tool("Get thread", returns=shapes.Thread, read_only=True, idempotent=True)
async def get_thread(
    gateway: Gateway,
    thread_id: Annotated[str, Field(description="Thread id (t...) or the id of an email in it")],
    limit: Annotated[int, Field(ge=1, le=500, description="How many of the newest emails")] = 20,
    max_chars: Annotated[int, Field(ge=1, le=200_000, description="Per email")] = 2000,
    account: AccountName = "",
) -> CallToolResult:
    """Read a whole conversation, oldest email first, without quoted history."""
    from postroom.service.reading import read

    view = await read.get_thread(gateway, thread_id, account=named(account), limit=limit, max_chars=max_chars)
    return results.thread(view)


@toolset.tool("List attachments", returns=shapes.Attachments, read_only=True, idempotent=True)
async def list_attachments(gateway: Gateway, email_id: EmailId, account: AccountName = "") -> CallToolResult:
    """List the attachments of an email with names, types, sizes and resource links."""
    from postroom.service import presenting
    from postroom.service.reading import read

    views = await read.list_attachments(gateway, email_id, account=named(account))
    owner, _ = await presenting.locate(gateway, email_id, named(account))
    return results.attachments(owner.name, email_id, views)


@toolset.tool("Download attachment", returns=shapes.SavedFile, read_only=True)
async def download_attachment(
    gateway: Gateway,
    email_id: EmailId,
    attachment_id: Annotated[str, Field(description="From read_email or list_attachments")],
    as_base64: Annotated[bool, Field(description="Return the bytes instead of saving; at most 64 KB")] = False,
    account: AccountName = "",
) -> CallToolResult:
    """Save an attachment to the download folder and return its path."""
    from postroom.service.reading import read

    file = await read.download_attachment(gateway, email_id, attachment_id, account=named(account), as_base64=as_base64)
    return results.saved_file(file)


@toolset.tool("Read attachment", returns=shapes.AttachmentText, read_only=True, idempotent=True)
async def read_attachment(
    gateway: Gateway,
    email_id: EmailId,
    attachment_id: str,
    max_chars: MaxChars = 3500,
    offset: Offset = 0,
    account: AccountName = "",
) -> CallToolResult:
    """Read an attachment: text of PDF, Office, HTML, calendar and text files; small pictures as images."""
    from postroom.service.reading import attachment_text

    view = await attachment_text.read_attachment(
        gateway, email_id, attachment_id, account=named(account), max_chars=max_chars, offset=offset
    )
    return results.attachment_text(view)


@toolset.tool("List identities", returns=shapes.Identities, read_only=True, idempotent=True)
async def list_identities(gateway: Gateway, account: AccountName = "") -> CallToolResult:
    """List the addresses an account may send from; the default comes first."""
    from postroom.service.accounts import identities

    return results.identities(await identities.list_identities(gateway, named(account)))


@toolset.tool("Find people", returns=shapes.People, read_only=True, idempotent=True)
async def find_people(
    gateway: Gateway,
    text: Annotated[str, Field(max_length=200, description="Part of a name or address")] = "",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    account: AccountOrAll = "",
) -> CallToolResult:
    """Find addresses of people written to or heard from, best match first."""
    from postroom.service.reading import people

    return results.people(await people.find_people(gateway, text, account=named(account), limit=limit))
