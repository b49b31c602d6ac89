"""The parts of a parsed message: names, numbers, contents."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message

from tests.peers.gmail.raw_headers import header_text


def filename_of(part: Message) -> str:
    name = part.get_filename()
    if not name and part.get_content_type() == "message/rfc822":
        return "noname.eml"
    return header_text(name or "")


def children_of(part: Message, part_id: str) -> list[tuple[str, Message]]:
    inner = part.get_payload()
    if not isinstance(inner, list):
        return []
    numbered = ((f"{part_id}.{at}" if part_id else str(at), child) for at, child in enumerate(inner))
    return [(child_id, child) for child_id, child in numbered if isinstance(child, Message)]


def parts_of(part: Message, part_id: str = "") -> Iterator[tuple[str, Message]]:
    yield part_id, part
    for child_id, child in children_of(part, part_id):
        yield from parts_of(child, child_id)


def content_of(part: Message) -> bytes:
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        inner = part.get_payload(0)
        return inner.as_bytes() if isinstance(inner, Message) else b""
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def utf8_of(part: Message) -> bytes:
    """Texts come in UTF-8, whatever their Content-Type still says."""
    content = content_of(part)
    try:
        return content.decode(str(part.get_content_charset("utf-8")), "replace").encode()
    except (LookupError, UnicodeError):
        return content.decode("utf-8", "replace").encode()
