"""Multipart bodies, taken apart byte by byte: the parts are messages, and the `email` package would read into them."""

from __future__ import annotations

import re
from email.message import Message

from tests.peers.gmail.errors import bad

Part = tuple[dict[str, str], bytes]  # header fields with names in lower case, and the content


def parts(body: bytes, content_type: str) -> list[Part]:
    holder = Message()
    holder["Content-Type"] = content_type
    boundary = holder.get_param("boundary")
    if not isinstance(boundary, str) or not content_type.lower().startswith("multipart/"):
        raise bad("Missing boundary of the multipart body", "badContent")
    delimiter = rb"(?:\A|\r?\n)--" + re.escape(boundary.encode()) + rb"(?:--)?[ \t]*(?:\r?\n|\Z)"
    pieces = re.split(delimiter, body)
    return [_part(piece) for piece in pieces[1:] if piece.strip()]


def _part(piece: bytes) -> Part:
    header, _, content = headed(piece)
    return header, content


def headed(text: bytes) -> tuple[dict[str, str], bytes, bytes]:
    """Header fields, the empty line, and what follows it."""
    found = re.match(rb"((?:[^\r\n]+\r?\n)*)(\r?\n|\Z)", text)
    assert found is not None
    fields = (line.partition(b":") for line in found[1].splitlines())
    header = {name.decode("latin-1").strip().lower(): value.decode("latin-1").strip() for name, _, value in fields}
    return header, found[2], text[found.end() :]
