"""From FETCH responses to the model: an envelope in a list, an opened message."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.mime.read.parse import Parsed, parse_headers
from postroom.mime.read.structure import Part
from postroom.model.message import Envelope
from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.mail.structure import attachments, read_structure
from postroom.providers.imap.session.wire import Item, number, read_internal_date

HEADER_FIELDS = "DATE FROM SENDER TO CC BCC REPLY-TO SUBJECT MESSAGE-ID IN-REPLY-TO REFERENCES CONTENT-TYPE"
LINE = f"UID FLAGS RFC822.SIZE INTERNALDATE BODYSTRUCTURE BODY.PEEK[HEADER.FIELDS ({HEADER_FIELDS})]"


@dataclass(frozen=True, slots=True)
class Line:
    """One message as a listing fetches it, before it has a snippet."""

    ref: MailRef
    flags: frozenset[str]  # lower case
    labels: tuple[str, ...]
    size: int
    arrived: datetime | None
    structure: Part
    parsed: Parsed

    @property
    def is_deleted(self) -> bool:
        return "\\deleted" in self.flags


def read_line(ref: MailRef, item: Item, labels: tuple[str, ...]) -> Line:
    return Line(
        ref,
        frozenset(flag.lower() for flag in read_flags(item) if flag.startswith(("\\", "$"))),
        labels,
        number(item.get("RFC822.SIZE")),
        read_internal_date(item.get("INTERNALDATE")),
        read_structure(item.get("BODYSTRUCTURE")),
        parse_headers(as_bytes(item.get("HEADERS"))),
    )


def read_flags(item: Item) -> list[str]:
    return [flag.decode("ascii", "replace") for flag in item.get("FLAGS") or () if isinstance(flag, bytes)]


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""


def envelope_of(line: Line, folder: str, snippet: str) -> Envelope:
    parsed = line.parsed
    return Envelope(
        ref=str(line.ref),
        thread_ref=thread_ref_of(parsed, line.ref),
        folder=folder,
        sender=parsed.sender,
        to=parsed.to,
        cc=parsed.cc,
        bcc=parsed.bcc,
        reply_to=parsed.reply_to,
        subject=parsed.subject,
        date=parsed.date or line.arrived,
        snippet=snippet,
        unread="\\seen" not in line.flags,
        starred="\\flagged" in line.flags,
        answered="\\answered" in line.flags,
        forwarded="$forwarded" in line.flags,
        draft="\\draft" in line.flags,
        has_attachments=has_attachments(line.structure),
        labels=line.labels,
        size=line.size,
        message_id=parsed.message_id,
        in_reply_to=parsed.in_reply_to,
        references=parsed.references,
    )


def has_attachments(structure: Part) -> bool:
    """Inline images do not count: they were not sent as files."""
    return any(not attachment.inline for attachment in attachments(structure))


def thread_ref_of(parsed: Parsed, ref: MailRef | None) -> str:
    """A thread is identified by its first message's Message-ID; a message without any is a thread of its own."""
    ancestor = parsed.references[0] if parsed.references else parsed.in_reply_to or parsed.message_id
    return ancestor or (str(ref) if ref else "")
