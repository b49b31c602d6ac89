"""A message as the API shows it: formats, parts, bodies, snippet."""

from __future__ import annotations

import base64
import html
import re
import secrets
from email.message import Message
from typing import Any

from tests.peers.gmail.errors import Refused
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.parts import children_of, content_of, filename_of, parts_of, utf8_of
from tests.peers.gmail.raw_headers import header_text
from tests.peers.gmail.stored import StoredMessage

ATTACHMENT_ID_LIFETIME = 3600.0  # seconds; Gmail does not say how long
_SNIPPET = 200
_UNREADABLE = {"": (), "text": ("full", "raw"), "headers": ("full", "raw", "metadata")}
_MARKUP = re.compile(r"<(style|script|head)\b.*?</\1>|<[^>]*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode()


def brief(message: StoredMessage) -> dict[str, Any]:
    """What a change answers: the ids, and the labels if there are any."""
    value: dict[str, Any] = {"id": message.id, "threadId": message.thread_id}
    return value | ({"labelIds": _labels(message)} if message.labels else {})


def shown(mailbox: Mailbox, message: StoredMessage, form: str, headers: list[str]) -> dict[str, Any]:
    value = brief(message) | {
        "snippet": snippet(message),
        "sizeEstimate": len(message.raw),
        "historyId": str(message.history_id),
        "internalDate": str(message.internal_date),
    }
    if form in _UNREADABLE[message.damage]:
        raise Refused(message.damage_status, "Internal error encountered.")
    match form:
        case "raw":
            return value | {"raw": encoded(message.raw)}
        case "full":
            return value | {"payload": _part(mailbox, message, message.parsed, "")}
        case "metadata":
            wanted = {name.lower() for name in headers}
            kept = [one for one in _headers(message.parsed) if not wanted or one["name"].lower() in wanted]
            payload = {"mimeType": message.parsed.get_content_type()} | ({"headers": kept} if kept else {})
            return value | {"payload": payload}
    return value


def snippet(message: StoredMessage) -> str:
    """The beginning of the text, on one line and with its special characters as HTML entities."""
    for wanted in ("text/plain", "text/html"):
        for part in message.parsed.walk():
            if part.get_content_type() == wanted and not filename_of(part):
                text = utf8_of(part).decode()
                if wanted == "text/html":
                    text = html.unescape(_MARKUP.sub(" ", text))
                return html.escape(" ".join(text.split())[:_SNIPPET].strip(), quote=True).replace("&#x27;", "&#39;")
    return ""


def attachment(mailbox: Mailbox, message: StoredMessage, attachment_id: str) -> bytes | None:
    """None for an id that was never given out for this message, or is too old."""
    owner, part_id, end = mailbox.attachment_ids.get(attachment_id, ("", "", 0.0))
    if owner != message.id or mailbox.clock() >= end:
        return None
    return next((content_of(part) for given, part in parts_of(message.parsed) if given == part_id), None)


def _labels(message: StoredMessage) -> list[str]:
    return sorted(message.labels)


def _headers(part: Message) -> list[dict[str, str]]:
    return [{"name": name, "value": header_text(value)} for name, value in part.items()]


def _part(mailbox: Mailbox, message: StoredMessage, part: Message, part_id: str) -> dict[str, Any]:
    children = children_of(part, part_id)
    value: dict[str, Any] = {
        "partId": part_id,
        "mimeType": part.get_content_type(),
        "filename": filename_of(part),
        "headers": _headers(part),
        "body": _body(mailbox, message, part, part_id),
    }
    return value | ({"parts": [_part(mailbox, message, child, given) for given, child in children]} if children else {})


def _body(mailbox: Mailbox, message: StoredMessage, part: Message, part_id: str) -> dict[str, Any]:
    """A file, and whatever is no text, is to be fetched by itself, under an id that is new each time."""
    if part.is_multipart() and part.get_content_type() != "message/rfc822":
        return {"size": 0}
    if filename_of(part) or part.get_content_maintype() != "text":
        new_id = "ANGjdJ" + secrets.token_urlsafe(96)
        mailbox.attachment_ids[new_id] = (message.id, part_id, mailbox.clock() + ATTACHMENT_ID_LIFETIME)
        return {"attachmentId": new_id, "size": len(content_of(part))}
    content = utf8_of(part)
    return {"size": len(content)} | ({"data": encoded(content)} if content else {})
