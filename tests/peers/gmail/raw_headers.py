"""The header of a raw message, field by field, without parsing and writing it anew: bodies keep every byte."""

from __future__ import annotations

import email
import re
from collections.abc import Callable
from email import policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message

_FIELD = re.compile(rb"([!-9;-~]+)[ \t]*:((?:.*(?:\r\n|\Z))(?:[ \t].*(?:\r\n|\Z))*)")
Field = tuple[str, bytes]  # name, and the whole field with its line end


def header_of(raw: bytes) -> Message:
    """The header alone, parsed: bodies are long, and most questions are not about them."""
    return email.message_from_bytes(raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n", policy=policy.compat32)


def header_text(value: object) -> str:
    """Unfolded and decoded, as the API gives header values."""
    unfolded = "".join(str(value).splitlines())
    if "=?" not in unfolded:
        return unfolded
    try:
        return str(make_header(decode_header(unfolded)))
    except (MessageError, LookupError, UnicodeError, ValueError):
        return unfolded


def with_network_newlines(raw: bytes) -> bytes:
    return re.sub(rb"\r?\n", b"\r\n", raw)


def split(raw: bytes) -> tuple[list[Field], bytes]:
    """The fields and the rest, which begins with the empty line."""
    header, empty_line, body = raw.partition(b"\r\n\r\n")
    if raw.startswith(b"\r\n"):
        header, empty_line, body = b"", b"\r\n\r\n", raw[2:]
    fields = [(match[1].decode("latin-1"), match[0]) for match in _FIELD.finditer(header + b"\r\n")]
    return fields, b"\r\n" + body if empty_line else b""


def joined(fields: list[Field], rest: bytes) -> bytes:
    return b"".join(field for _, field in fields) + (rest or b"\r\n")


def without(raw: bytes, *names: str) -> bytes:
    return _kept(raw, lambda name: name.lower() not in names)


def with_first(raw: bytes, name: str, value: str) -> bytes:
    fields, rest = split(raw)
    return joined([_field(name, value), *fields], rest)


def with_value(raw: bytes, name: str, value: str) -> bytes:
    """This field once, at the place of the first one or at the end."""
    fields, rest = split(raw)
    places = [at for at, (given, _) in enumerate(fields) if given.lower() == name.lower()]
    kept = [field for at, field in enumerate(fields) if at not in places]
    kept.insert(places[0] if places else len(kept), _field(name, value))
    return joined(kept, rest)


def _field(name: str, value: str) -> Field:
    return name, f"{name}: {value}\r\n".encode()


def _kept(raw: bytes, wanted: Callable[[str], bool]) -> bytes:
    fields, rest = split(raw)
    return joined([field for field in fields if wanted(field[0])], rest)
