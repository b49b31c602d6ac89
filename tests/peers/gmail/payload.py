"""A message as the API shows it: formats, parts, bodies, snippet."""

from __future__ import annotations

import base64
import html
import re
import secrets
from collections.abc import Iterator
from email.message import Message
from typing import Any

from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.stored import StoredMessage, header_text

ATTACHMENT_ID_LIFETIME = 3600.0  # seconds; Gmail does not say how long
_SNIPPET = 200
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
            if part.get_content_type() == wanted and not _filename(part):
                text = _utf8(part).decode()
                if wanted == "text/html":
                    text = html.unescape(_MARKUP.sub(" ", text))
                return html.escape(" ".join(text.split())[:_SNIPPET].strip(), quote=True).replace("&#x27;", "&#39;")
    return ""


def attachment(mailbox: Mailbox, message: StoredMessage, attachment_id: str) -> bytes | None:
    """None for an id that was never given out for this message, or is too old."""
    owner, part_id, end = mailbox.attachment_ids.get(attachment_id, ("", "", 0.0))
    if owner != message.id or mailbox.clock() >= end:
        return None
    return next((_content(part) for given, part in _parts(message.parsed, "") if given == part_id), None)


def _labels(message: StoredMessage) -> list[str]:
    return sorted(message.labels)


def _headers(part: Message) -> list[dict[str, str]]:
    return [{"name": name, "value": header_text(value)} for name, value in part.items()]


def _filename(part: Message) -> str:
    name = part.get_filename()
    if not name and part.get_content_type() == "message/rfc822":
        return "noname.eml"
    return header_text(name or "")


def _children(part: Message, part_id: str) -> list[tuple[str, Message]]:
    inner = part.get_payload()
    if not isinstance(inner, list):
        return []
    return [(f"{part_id}.{at}" if part_id else str(at), child) for at, child in enumerate(inner) if _is_part(child)]


def _is_part(value: object) -> bool:
    return isinstance(value, Message)


def _parts(part: Message, part_id: str) -> Iterator[tuple[str, Message]]:
    yield part_id, part
    for child_id, child in _children(part, part_id):
        yield from _parts(child, child_id)


def _part(mailbox: Mailbox, message: StoredMessage, part: Message, part_id: str) -> dict[str, Any]:
    children = _children(part, part_id)
    value: dict[str, Any] = {
        "partId": part_id,
        "mimeType": part.get_content_type(),
        "filename": _filename(part),
        "headers": _headers(part),
        "body": _body(mailbox, message, part, part_id),
    }
    return value | ({"parts": [_part(mailbox, message, child, given) for given, child in children]} if children else {})


def _body(mailbox: Mailbox, message: StoredMessage, part: Message, part_id: str) -> dict[str, Any]:
    """A file, and whatever is no text, is to be fetched by itself, under an id that is new each time."""
    if part.is_multipart() and part.get_content_type() != "message/rfc822":
        return {"size": 0}
    if _filename(part) or part.get_content_maintype() != "text":
        new_id = "ANGjdJ" + secrets.token_urlsafe(96)
        mailbox.attachment_ids[new_id] = (message.id, part_id, mailbox.clock() + ATTACHMENT_ID_LIFETIME)
        return {"attachmentId": new_id, "size": len(_content(part))}
    content = _utf8(part)
    return {"size": len(content)} | ({"data": encoded(content)} if content else {})


def _content(part: Message) -> bytes:
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        inner = part.get_payload(0)
        return inner.as_bytes() if isinstance(inner, Message) else b""
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _utf8(part: Message) -> bytes:
    """Texts come in UTF-8, whatever their Content-Type still says."""
    content = _content(part)
    try:
        return content.decode(str(part.get_content_charset("utf-8")), "replace").encode()
    except (LookupError, UnicodeError):
        return content.decode("utf-8", "replace").encode()
