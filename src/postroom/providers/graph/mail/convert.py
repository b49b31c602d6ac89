"""From Graph's JSON to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from postroom.mime.read.headers import decode_value
from postroom.model.address import Address
from postroom.model.message import Attachment, Body, Envelope
from postroom.providers.graph.session.wire import (
    FORWARDED,
    IN_REPLY_TO,
    JSON,
    LAST_VERB,
    REFERENCES,
    REPLIED,
    REPLIED_TO_ALL,
    SIZE,
    TYPE,
    extended,
    inner,
    number,
    objects,
    text,
    texts,
)

REFERENCE = "#microsoft.graph.referenceAttachment"
_ITEM = "#microsoft.graph.itemAttachment"
_NOBODY = Address("")


def envelope_of(message: JSON, folder: Callable[[str], str], snippet: str = "") -> Envelope:
    """`folder` gives a folder's name by its id."""
    more = extended(message)
    verb = more.get(LAST_VERB, "")
    return Envelope(
        ref=text(message.get("id")),
        thread_ref=text(message.get("conversationId")) or text(message.get("id")),
        folder=folder(text(message.get("parentFolderId"))),
        sender=person(message.get("from") or message.get("sender")),
        to=people(message.get("toRecipients")),
        cc=people(message.get("ccRecipients")),
        bcc=people(message.get("bccRecipients")),
        reply_to=people(message.get("replyTo")),
        subject=text(message.get("subject")),
        date=moment(message.get("receivedDateTime")),
        snippet=snippet,
        unread=message.get("isRead") is False,
        starred=inner(message.get("flag")).get("flagStatus") == "flagged",
        answered=verb in (REPLIED, REPLIED_TO_ALL),
        forwarded=verb == FORWARDED,
        draft=message.get("isDraft") is True,
        has_attachments=message.get("hasAttachments") is True,
        labels=tuple(texts(message.get("categories"))),
        size=number(more.get(SIZE, "")) or 0,
        message_id=text(message.get("internetMessageId")),
        in_reply_to=more.get(IN_REPLY_TO, "").strip(),
        references=tuple(more.get(REFERENCES, "").split()),
    )


def person(value: Any) -> Address:
    """Who has no name is called by the address."""
    given = inner(inner(value).get("emailAddress"))
    email, name = text(given.get("address")), text(given.get("name"))
    return Address(email, "" if name.casefold() == email.casefold() else name) if email or name else _NOBODY


def people(value: Any) -> tuple[Address, ...]:
    return tuple(person(one) for one in objects(value))


def moment(value: Any) -> datetime | None:
    """A time without a zone is one in UTC."""
    try:
        found = datetime.fromisoformat(text(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def body_of(message: JSON) -> Body:
    given = inner(message.get("body"))
    content = text(given.get("content"))
    return Body(html=content) if text(given.get("contentType")).lower() == "html" else Body(text=content)


def headers_of(message: JSON) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for one in objects(message.get("internetMessageHeaders")):
        found.setdefault(text(one.get("name")).lower(), []).append(decode_value(text(one.get("value"))))
    return {name: tuple(values) for name, values in found.items()}


def attachments_of(message: JSON) -> tuple[Attachment, ...]:
    return tuple(attachment_of(one) for one in objects(message.get("attachments")))


def references_of(message: JSON) -> Iterable[Attachment]:
    """Links to files in the cloud: no part of the message's bytes."""
    return (attachment_of(one) for one in objects(message.get("attachments")) if one.get(TYPE) == REFERENCE)


def attachment_of(given: JSON) -> Attachment:
    kind = {_ITEM: "message/rfc822", REFERENCE: "text/uri-list"}.get(text(given.get(TYPE)), "")
    size = given.get("size")
    return Attachment(
        part=text(given.get("id")),
        filename=text(given.get("name")),
        mime_type=kind or text(given.get("contentType")) or "application/octet-stream",
        size=size if isinstance(size, int) else 0,
        inline=given.get("isInline") is True,
    )


def recipients(addresses: Iterable[Address]) -> list[JSON]:
    return [{"emailAddress": {"address": one.email, **({"name": one.name} if one.name else {})}} for one in addresses]
