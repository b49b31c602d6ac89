"""The parts of a message to be sent: text, files, whole messages, and the multiparts that contain them."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from postroom.mime.write.headers import CRLF, ascii_fallback, parameters_header
from postroom.model.address import refuse_line_breaks
from postroom.model.draft import File
from postroom.model.errors import InvalidRequest

Width = Literal["7bit", "8bit"]  # what a part requires of the transport

_MAX_LINE, _COMFORTABLE_LINE = 998, 78
_MAX_FILENAME = 255
_CONTROLS = frozenset((*range(0x20), 0x7F)) - {0x09}
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\Z")
_CONTENT_ID = re.compile(r"[!-;=?-~]{1,200}\Z")


@dataclass(frozen=True, slots=True)
class Part:
    """Headers with their line ends, encoded content, and the width that an enclosing part must declare too."""

    headers: str
    content: bytes
    width: Width = "7bit"

    def to_bytes(self) -> bytes:
        return self.headers.encode() + b"\r\n" + self.content


def text_part(subtype: Literal["plain", "html"], text: str) -> Part:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    data = _utf8(lines if lines.endswith("\n") or not lines else lines + "\n")
    encoding, content = _encoded_text(data)
    head = parameters_header("Content-Type", f"text/{subtype}", [("charset", "utf-8")])
    return Part(head + f"Content-Transfer-Encoding: {encoding}{CRLF}", content)


def calendar_part(text: str) -> Part:
    """An answer to an invitation, marked as such (RFC 6047)."""
    encoding, content = _encoded_text(_utf8(text.replace("\r\n", "\n")))
    head = parameters_header("Content-Type", "text/calendar", [("charset", "utf-8"), ("method", "REPLY")])
    return Part(head + f"Content-Transfer-Encoding: {encoding}{CRLF}", content)


def sendable_type(claimed: str) -> str:
    """The type under which a received file can be sent on. Where its sender wrote none that is valid, or one that a
    file in base64 must not have, it is just a file."""
    is_container = claimed.lower().startswith(("multipart/", "message/")) and claimed.lower() != "message/rfc822"
    return claimed if _TYPE.match(claimed) and not is_container else "application/octet-stream"


def sendable_id(claimed: str) -> str:
    """The Content-ID with which a received file can be sent on, if it has one."""
    bare = claimed.removeprefix("<").removesuffix(">")
    return bare if _CONTENT_ID.match(bare) else ""


def file_part(file: File) -> Part:
    """An attachment in base64; a message given as a file is included unchanged (message/rfc822 allows no encoding)."""
    mime_type = _checked_type(file)
    if mime_type == "message/rfc822":
        return message_part(file.content, file.filename)
    marked = f"Content-ID: <{_checked_content_id(file)}>{CRLF}" if file.content_id else ""
    return _encoded_file(mime_type, file.filename, "inline" if file.inline else "attachment", file.content, marked)


def _encoded_file(mime_type: str, filename: str, disposition: str, content: bytes, marked: str = "") -> Part:
    head = _file_headers(mime_type, filename, disposition)
    return Part(f"{head}{marked}Content-Transfer-Encoding: base64{CRLF}", _base64(content))


def message_part(raw: bytes, filename: str) -> Part:
    """A whole message, its bytes unchanged except for bare line feeds, which no transport accepts.

    One that no transport accepts at all is attached as a plain file: message/rfc822 may not be encoded, and a server
    would break its long lines.
    """
    content = re.sub(rb"(?<!\r)\n", b"\r\n", raw)
    if not _can_travel(content):
        return _encoded_file("application/octet-stream", filename, "attachment", raw)
    width: Width = "7bit" if content.isascii() else "8bit"
    head = _file_headers("message/rfc822", filename, "attachment")
    return Part(f"{head}Content-Transfer-Encoding: {width}{CRLF}", content, width)


def multipart(subtype: str, parts: Sequence[Part], root_type: str = "") -> Part:
    """The boundary is derived from the content, so that the same draft gives the same bytes; it never occurs in it."""
    blocks = [part.to_bytes() for part in parts]
    boundary = _boundary(blocks)
    width: Width = "8bit" if any(part.width == "8bit" for part in parts) else "7bit"
    parameters = [("boundary", boundary), *([("type", root_type)] if root_type else [])]
    head = parameters_header("Content-Type", f"multipart/{subtype}", parameters)
    head += f"Content-Transfer-Encoding: {width}{CRLF}"
    mark = b"--" + boundary.encode()
    content = b"".join(mark + b"\r\n" + block + b"\r\n" for block in blocks) + mark + b"--\r\n"
    return Part(head, content, width)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(
            "The body contains half a character (a lone surrogate). Remove it and try again."
        ) from None


def _encoded_text(data: bytes) -> tuple[str, bytes]:
    if data.isascii() and all(_travels_as_it_is(line) for line in data.split(b"\n")):
        return "7bit", data.replace(b"\n", b"\r\n")
    quoted = _quoted_printable(data)
    if len(quoted) <= len(data) * 3 // 2:
        return "quoted-printable", quoted
    return "base64", _base64(data.replace(b"\n", b"\r\n"))


def _travels_as_it_is(line: bytes) -> bool:
    """Short, and without anything that servers are known to change: trailing spaces, a leading From, a lone dot."""
    is_safe = line != b"." and not line.startswith(b"From ") and not line.endswith((b" ", b"\t"))
    return is_safe and len(line) <= _COMFORTABLE_LINE and not _CONTROLS & set(line)


def _quoted_printable(data: bytes) -> bytes:
    encoded = binascii.b2a_qp(data, quotetabs=False, istext=True)
    return re.sub(rb"(?m)^From ", b"=46rom=\n ", encoded).replace(b"\n", b"\r\n")


def _base64(data: bytes) -> bytes:
    """Encoded at once and then split: many times faster than line by line for a large file."""
    encoded = binascii.b2a_base64(data, newline=False)
    lines = b"\r\n".join([encoded[start : start + 76] for start in range(0, len(encoded), 76)])
    return lines + b"\r\n" if lines else b""


def _can_travel(content: bytes) -> bool:
    return b"\x00" not in content and all(
        len(line) <= _MAX_LINE and b"\r" not in line for line in content.split(b"\r\n")
    )


def _file_headers(mime_type: str, filename: str, disposition: str) -> str:
    """The real name is in Content-Disposition, a plain-letter one in Content-Type for clients without RFC 2231.

    Not both in Content-Disposition: clients that find ``filename`` beside ``filename*`` often show the poorer one.
    """
    refuse_line_breaks(filename, "filename")
    if len(filename.encode()) > _MAX_FILENAME:
        raise InvalidRequest("The attachment's filename is longer than 255 bytes. Choose a shorter one.")
    named = [("filename", filename)] if filename else []
    plain = [("name", ascii_fallback(filename)[:50])] if filename else []
    return parameters_header("Content-Type", mime_type, plain) + parameters_header(
        "Content-Disposition", disposition, named
    )


def _checked_type(file: File) -> str:
    """Other composite types forbid base64, so a file that claims one is sent as plain bytes."""
    mime_type = file.mime_type.lower() or "application/octet-stream"
    if not _TYPE.match(mime_type):
        raise InvalidRequest(
            "The attachment's MIME type must look like application/pdf.", details={"field": "mime_type"}
        )
    is_composite = mime_type.startswith(("multipart/", "message/")) and mime_type != "message/rfc822"
    return "application/octet-stream" if is_composite else mime_type


def _checked_content_id(file: File) -> str:
    content_id = sendable_id(file.content_id)
    if not content_id:
        raise InvalidRequest(
            "An inline file's content_id must be printable ASCII without spaces.", details={"field": "content_id"}
        )
    return content_id


def _boundary(blocks: Sequence[bytes]) -> str:
    """``=_`` cannot occur in quoted-printable or base64; whole messages are checked anyway."""
    digest = hashlib.sha256(b"\x00".join(blocks)).hexdigest()
    while any(b"=_" + digest[:32].encode() in block for block in blocks):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"=_{digest[:32]}"
