"""Email as MCP resources, for clients that read links: an inbox, a message as Markdown, its source, its attachments."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource

from postroom.doors.mcp import failures
from postroom.doors.mcp.dialects.postroom import completions, text
from postroom.model.errors import InvalidRequest, NotFound
from postroom.service.gateway import Gateway

T = TypeVar("T")
MailContext = Context[Gateway, Any]


def register(server: MCPServer[Gateway]) -> None:
    """The first match is read: `inbox` comes first, or it could be taken for a message id."""
    mail = "mail://{account}/{email_id}"
    server.resource("mail://{account}/inbox", title="Inbox", mime_type="text/plain")(inbox)
    server.resource(mail, title="Email", mime_type="text/markdown")(email)
    server.resource(f"{mail}/raw", title="Email source", mime_type="message/rfc822")(email_source)
    server.resource(f"{mail}/attachments/{{attachment_id}}", title="Attachment", mime_type="application/octet-stream")(
        attachment
    )
    completions.register(server)


def inboxes(accounts: Iterable[str]) -> dict[str, str]:
    """The resources that are listed and can be subscribed to: URI to account."""
    return {f"mail://{quote(account, safe='')}/inbox": account for account in accounts}


def listed(found: Mapping[str, str]) -> list[Resource]:
    return [
        Resource(
            uri=uri,
            name=f"{account} inbox",
            title=f"Inbox of {account}",
            description="Its newest emails, one line each. Subscribe to be notified when it changes.",
            mime_type="text/plain",
        )
        for uri, account in found.items()
    ]


async def inbox(account: str, ctx: MailContext) -> str:
    """The newest emails in the account's inbox, one line each, as list_emails shows them."""
    from postroom.service.reading import search

    page = await _told(search.list_emails(_gateway(ctx), account=account))
    return text.email_page(page, text.lines(page), text.MAX_SNIPPET)


async def email(account: str, email_id: str, ctx: MailContext) -> str:
    """An email as text, with the sender's content set apart."""
    from postroom.service.reading import read, rendering

    opened = await _told(read.read_email(_gateway(ctx), email_id, account=account, max_chars=rendering.MAX_BODY_CHARS))
    return text.open_email(opened, text.new_marker())


async def email_source(account: str, email_id: str, ctx: MailContext) -> bytes:
    """The source of an email, byte for byte."""
    from postroom.service.reading import read

    return await _told(read.raw_email(_gateway(ctx), email_id, account))


async def attachment(account: str, email_id: str, attachment_id: str, ctx: MailContext) -> bytes:
    """The bytes of one attachment."""
    from postroom.service.reading import read

    _, content = await _told(read.attachment_bytes(_gateway(ctx), email_id, attachment_id, account))
    return content


def _gateway(ctx: MailContext) -> Gateway:
    return ctx.request_context.lifespan_context


async def _told(reading: Awaitable[T]) -> T:
    """Turn failures into errors of the protocol, with our message."""
    try:
        return await reading
    except (NotFound, InvalidRequest) as missing:  # an address that leads nowhere is no fault of the server
        raise ResourceNotFoundError(missing.message) from None
    except Exception as problem:  # noqa: BLE001 - whatever it was, the client gets a code and a sentence
        error = failures.as_postroom_error(problem, "resource")
        raise ResourceError(f"{error.code}: {error.message}") from None
