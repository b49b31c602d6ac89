"""A Draft to the bytes that are sent: RFC 5322 and 2045, CRLF throughout, the same bytes for the same draft.

- Text is never hard-wrapped: a paragraph of any length arrives as one, in quoted-printable if a line is long.
  (`format=flowed` would need support in every mail client, and few follow its rules.)
- Everything is 7-bit with one exception: a forwarded original is included unchanged, labelled 8bit if it is, or as
  a file in base64 if no server would transport it (lines of over 998 bytes).
- Text and HTML end with a line break; one is added if it is missing.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime

from postroom.mime.write.headers import CRLF, address_header, id_header, text_header
from postroom.mime.write.parts import Part, calendar_part, file_part, message_part, multipart, text_part
from postroom.model.address import ascii_domain
from postroom.model.draft import Draft, File, Importance
from postroom.model.message import Body

FORWARDED_FILENAME = "forwarded message.eml"  # `reply.draft_from` recognizes it by this name

_MAX_REFERENCES = 20
_X_PRIORITY = {Importance.HIGH: "1 (Highest)", Importance.LOW: "5 (Lowest)"}


def compose(
    draft: Draft, *, message_id: str | None = None, date: datetime | None = None, keep_bcc: bool = False
) -> bytes:
    """The whole message. Bcc is written only for a saved draft (`keep_bcc`).

    InvalidRequest if an address, a header value or a file name cannot be sent; nothing is repaired silently.
    """
    head = [
        f"Date: {format_datetime(date or datetime.now(UTC))}{CRLF}",
        *_address_headers(draft, keep_bcc),
        text_header("Subject", draft.subject),
        id_header("Message-ID", [message_id or new_message_id(draft.sender.domain)]),
        id_header("In-Reply-To", [draft.threading.in_reply_to]),
        id_header("References", _bounded(draft.threading.references)),
        *_importance_headers(draft.importance),
        f"MIME-Version: 1.0{CRLF}",
    ]
    return "".join(head).encode() + _content(draft).to_bytes()


def new_message_id(domain: str) -> str:
    """A new id, unguessable and without any hint of the machine or the time."""
    return f"<{secrets.token_hex(16)}@{ascii_domain(domain) or 'localhost'}>"


def _address_headers(draft: Draft, keep_bcc: bool) -> list[str]:
    return [
        address_header("From", [draft.sender]),
        address_header("Reply-To", draft.reply_to),
        address_header("To", draft.to),
        address_header("Cc", draft.cc),
        address_header("Bcc", draft.bcc if keep_bcc else ()),
    ]


def _importance_headers(importance: Importance) -> list[str]:
    if importance is Importance.NORMAL:
        return []
    return [f"Importance: {importance.value}{CRLF}", f"X-Priority: {_X_PRIORITY[importance]}{CRLF}"]


def _bounded(references: Sequence[str]) -> Sequence[str]:
    """The thread's first message and its latest ones: what RFC 5322 advises when the list grows too long."""
    return references if len(references) <= _MAX_REFERENCES else [references[0], *references[1 - _MAX_REFERENCES :]]


def _content(draft: Draft) -> Part:
    embedded = [file for file in draft.files if draft.html and file.inline and file.content_id]
    attached = [file_part(file) for file in draft.files if file not in embedded]
    if draft.forwarded is not None:
        attached.append(message_part(draft.forwarded, FORWARDED_FILENAME))
    body = _body(draft, embedded)
    return multipart("mixed", [body, *attached]) if attached else body


def _body(draft: Draft, embedded: Sequence[File]) -> Part:
    if draft.calendar:
        return multipart("alternative", [text_part("plain", draft.text), calendar_part(draft.calendar)])
    if not draft.html:
        return text_part("plain", draft.text)
    html = text_part("html", draft.html)
    if embedded:
        html = multipart("related", [html, *map(file_part, embedded)], root_type="text/html")
    return multipart("alternative", [text_part("plain", draft.text or plain_reading(draft.html)), html])


def plain_reading(html: str) -> str:
    """The text version for HTML whose author wrote none."""
    from postroom.mime.render import render  # imports an HTML parser: not at cold start

    return render(Body(html=html), fmt="words", keep_quoted=True).text
