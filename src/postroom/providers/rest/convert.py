"""From the API's objects to ours."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from postroom.mime.guarded import snippet
from postroom.mime.limits import MAX_ADDRESSES, MAX_EMAIL
from postroom.mime.read.addresses import read_addresses
from postroom.mime.read.dates import read_date
from postroom.mime.read.headers import decode_value
from postroom.mime.read.parse import parse_headers
from postroom.model.address import Address
from postroom.model.errors import NotFound, ProviderError, Unsupported
from postroom.model.folder import Folder, Role
from postroom.model.message import Attachment, Body, Envelope, Message
from postroom.model.role_names import role_by_name
from postroom.providers.rest import wire

_NOBODY = Address("")
_NAMED = re.compile(r"([^<>:;]*)<([^<>\s,:;\"()@]+@[^<>\s,:;\"()@]+)>\s*")
_PLAIN = frozenset(role.value for role in Role)
_LISTED_HEADERS = ("reply-to", "message-id", "in-reply-to", "references")


def folders(rows: Iterable[wire.MailboxRow]) -> list[Folder]:
    """Requests name a mailbox by its `name`; the API says of none what it is for, so names decide that."""
    found = [Folder(row.name, row.name, None, row.total, row.unread) for row in rows]
    taken: set[Role] = set()
    for folder in sorted(found, key=lambda one: (one.name.count("/"), one.name.casefold() not in _PLAIN)):
        is_inbox = folder.name.casefold() == wire.INBOX.casefold()
        role = Role.INBOX if is_inbox else role_by_name(folder.name)
        if role is not None and role not in taken:
            taken.add(role)
            found[found.index(folder)] = replace(folder, role=role, is_guess=not is_inbox)
    return sorted(found, key=lambda one: (one.role is not Role.INBOX, one.name.casefold()))


@dataclass(frozen=True, slots=True)
class Details:
    """What a listing lacks and only the opened message has."""

    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    message_id: str = ""
    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    has_attachments: bool = False
    filenames: tuple[str, ...] = ()
    snippet: str = ""


def envelope(row: wire.Row, folder: str, details: Details | None = None) -> Envelope:
    """Without details the service's own preview is all there is to show of the text."""
    more = details or Details(snippet=row.preview)
    return Envelope(
        ref=row.id,
        thread_ref=row.id,
        folder=folder,
        sender=_first(row.sender),
        to=_addresses(row.to),
        cc=more.cc,
        bcc=more.bcc,
        reply_to=more.reply_to,
        subject=row.subject,
        date=read_date(row.date),
        snippet=more.snippet,
        unread=not wire.has(row, wire.SEEN),
        starred=wire.has(row, wire.FLAGGED),
        answered=wire.has(row, wire.ANSWERED),
        forwarded=wire.has(row, wire.FORWARDED),
        draft=wire.has(row, wire.DRAFT),
        has_attachments=more.has_attachments,
        size=row.size,
        message_id=more.message_id,
        in_reply_to=more.in_reply_to,
        references=more.references,
    )


def details(found: Mapping[str, Any]) -> Details:
    known = parse_headers(_header_block(found))
    files = attachments(found)
    return Details(
        cc=_addresses(wire.texts(found, "cc")),
        bcc=_addresses(wire.texts(found, "bcc")),
        reply_to=known.reply_to,
        message_id=known.message_id,
        in_reply_to=known.in_reply_to,
        references=known.references,
        has_attachments=any(not file.inline for file in files),
        filenames=tuple(file.filename for file in files),
        snippet=snippet(body(found)),
    )


def message(found: Mapping[str, Any], row: wire.Row, folder: str) -> Message:
    return Message(envelope(row, folder, details(found)), body(found), attachments(found), headers(found))


def row_of(found: Mapping[str, Any], ref: str) -> wire.Row:
    """For an opened message that no mailbox lists: everything but its flags, as read."""
    size = sum(len(wire.text(found, key).encode("utf-8", "replace")) for key in ("body_text", "body_html"))
    return wire.Row(
        id=ref,
        subject=wire.text(found, "subject"),
        sender=wire.text(found, "from"),
        to=wire.texts(found, "to"),
        date=wire.text(found, "date"),
        flags=frozenset({wire.SEEN.casefold()}),
        size=size,
    )


def body(found: Mapping[str, Any]) -> Body:
    return Body(wire.text(found, "body_text"), wire.text(found, "body_html"))


def headers(found: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """An object of texts or of lists of texts, or a list of names and values."""
    given = found.get("headers")
    if isinstance(given, dict):
        return {name.lower(): tuple(map(decode_value, wire.texts(given, name))) for name in given}
    collected: dict[str, tuple[str, ...]] = {}
    for one in wire.objects(found, "headers"):
        name = wire.text(one, "name").lower()
        collected[name] = (*collected.get(name, ()), decode_value(wire.text(one, "value")))
    return collected


def attachments(found: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """Numbered from 1 in the order of the API, which gives them no ids."""
    listed = enumerate(wire.objects(found, "attachments"), 1)
    return tuple(_attachment(str(number), one) for number, one in listed)


def attachment_content(found: Mapping[str, Any], part: str) -> bytes:
    listed = wire.objects(found, "attachments")
    if not (part.isascii() and part.isdecimal() and len(part) < 10 and 1 <= int(part) <= len(listed)):
        raise NotFound(
            "This email has no such attachment. Call list_attachments to see the ids of its attachments.",
            reason="attachment_unknown",
            details={"attachment_id": part[:50]},
        )
    encoded = listed[int(part) - 1].get("content_base64")
    if not isinstance(encoded, str):
        raise Unsupported("rest", "downloading this attachment: the service does not include its content")
    try:
        return base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error):
        raise ProviderError("The mail service sent this attachment with invalid base64.") from None


def _attachment(part: str, one: Mapping[str, Any]) -> Attachment:
    filename = wire.text(one, "filename")
    kind = wire.text(one, "content_type") or wire.text(one, "mime_type") or mimetypes.guess_type(filename)[0]
    size = one.get("size")
    return Attachment(
        part=part,
        filename=filename,
        mime_type=(kind or "application/octet-stream").partition(";")[0].strip().lower(),
        size=size if isinstance(size, int) and size >= 0 else len(wire.text(one, "content_base64")) // 4 * 3,
        inline=one.get("inline") is True,
        content_id=wire.text(one, "content_id"),
    )


def _header_block(found: Mapping[str, Any]) -> bytes:
    """The headers that are addresses or ids, for the reader that knows their forms."""
    known = headers(found)
    lines = [f"{name}: {' '.join(value.split())}\r\n" for name in _LISTED_HEADERS for value in known.get(name, ())[:1]]
    return "".join(lines).encode("utf-8", "replace")


def _addresses(texts: Iterable[str]) -> tuple[Address, ...]:
    return tuple(address for text in texts for address in _read(text))[:MAX_ADDRESSES]


def _first(text: str) -> Address:
    return next(iter(_read(text)), _NOBODY)


def _read(text: str) -> tuple[Address, ...]:
    """The API decodes names and may leave out the quotes around a comma; a text may still name several people."""
    if text.count("@") == 1 and (one := _NAMED.fullmatch(text[:1000])):
        return (Address(one[2][:MAX_EMAIL], " ".join(one[1].strip().strip('"').replace('\\"', '"').split())),)
    return read_addresses(text)
