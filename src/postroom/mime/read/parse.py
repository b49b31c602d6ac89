"""Bytes to a parsed message. Never raises, and is bounded for any input; problems are reported in `defects`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from postroom.mime.limits import MAX_ADDRESSES
from postroom.mime.read.addresses import addresses_in
from postroom.mime.read.bodies import describe, read_body, sort_parts
from postroom.mime.read.dates import read_date
from postroom.mime.read.decode import decode_transfer
from postroom.mime.read.headers import HeaderBlock, decode_value, read_headers
from postroom.mime.read.structure import split
from postroom.model.address import Address
from postroom.model.errors import NotFound
from postroom.model.message import Attachment, Body
from postroom.model.quickly_built import quickly_built

_NOBODY = Address("")
_NO_BODY = Body()
_MESSAGE_ID = re.compile(r"<[^<>\s]{1,996}>")


@quickly_built
@dataclass(frozen=True, slots=True)
class Parsed:
    """Everything the bytes contain. Text is decoded but not cleaned: it is untrusted."""

    sender: Address = _NOBODY
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    subject: str = ""
    date: datetime | None = None  # aware
    message_id: str = ""  # with angle brackets
    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # lower-case names, decoded values
    body: Body = _NO_BODY
    attachments: tuple[Attachment, ...] = ()
    size: int = 0
    defects: tuple[str, ...] = ()


def parse(raw: bytes) -> Parsed:
    """The whole message."""
    root, split_defects = split(raw)
    defects = list(split_defects)
    found = sort_parts(root)
    body = read_body(raw, found, defects)
    attachments = tuple([describe(raw, part) for part in found.attachments])
    return _parsed(root.headers, body, attachments, len(raw), tuple(dict.fromkeys(defects)))


def parse_headers(block: bytes) -> Parsed:
    """Only a header block, as servers return it; anything after it is ignored."""
    headers = read_headers(block, len(block) - len(block.lstrip(b"\r\n")))
    return _parsed(headers, _NO_BODY, (), len(block), headers.defects)


def extract_part(raw: bytes, part: str) -> bytes:
    """The decoded bytes of the part with this IMAP number."""
    root, _ = split(raw)
    for leaf in root.leaves():
        if leaf.number == part:
            return decode_transfer(raw[leaf.start : leaf.end], leaf.encoding)
    raise NotFound(
        "This email has no such attachment. Call list_attachments to see the ids of its attachments.",
        reason="attachment_unknown",
        details={"attachment_id": part[:50]},
    )


def _parsed(
    block: HeaderBlock, body: Body, attachments: tuple[Attachment, ...], size: int, defects: tuple[str, ...]
) -> Parsed:
    cut: dict[str, None] = {}
    raw: dict[str, list[str]] = {}
    for name, value in block.fields:
        if name in raw:
            raw[name].append(value)
        else:
            raw[name] = [value]
    headers = {
        name: (decode_value(values[0]),) if len(values) == 1 else tuple(map(decode_value, values))
        for name, values in raw.items()
    }

    def addresses(name: str) -> tuple[Address, ...]:
        if name not in raw:
            return ()
        found, was_cut = addresses_in(", ".join(raw[name]))
        if len(found) > MAX_ADDRESSES:
            cut[f"The header {name.title()} has more than {MAX_ADDRESSES} addresses; the rest were omitted."] = None
        elif was_cut:
            cut[f"The header {name.title()} is too complicated; the rest of its addresses were omitted."] = None
        return found[:MAX_ADDRESSES]

    def text(name: str) -> str:
        return headers.get(name, ("",))[0]

    senders = addresses("from") or addresses("sender")
    to, cc, bcc, reply_to = addresses("to"), addresses("cc"), addresses("bcc"), addresses("reply-to")
    return Parsed(
        sender=senders[0] if senders else _NOBODY,
        to=to,
        cc=cc,
        bcc=bcc,
        reply_to=reply_to,
        subject=text("subject"),
        date=read_date(text("date")),
        message_id=_first_id(text("message-id")),
        in_reply_to=_first_id(text("in-reply-to")),
        references=tuple(dict.fromkeys(_MESSAGE_ID.findall(" ".join(headers.get("references", ()))))),
        headers=headers,
        body=body,
        attachments=attachments,
        size=size,
        defects=(*defects, *cut),
    )


def _first_id(text: str) -> str:
    """The id in angle brackets; some programs forget the brackets."""
    found = _MESSAGE_ID.search(text)
    if found:
        return found[0]
    bare = text.split(None, 1)[0].strip("<>") if text.strip() else ""
    return f"<{bare}>" if "@" in bare else ""
