"""Header lines, written by our own code: every value is checked for line breaks before any byte of it is written.

The standard library's folding is not used: on Python 3.11 a long subject with an encoded line feed, parsed and
written again, becomes a separate header. Words that are not plain ASCII become RFC 2047 encoded-words of at most 75
characters, none of which splits a letter; parameters follow RFC 2231.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from postroom.model.address import Address, ascii_domain, check_email, domain_key, refuse_line_breaks
from postroom.model.errors import InvalidRequest

FOLD, CRLF = 78, "\r\n"

_ENCODED_WORD = 75
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+\Z")
_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>\Z")  # printable ASCII without angle brackets or spaces
_Q_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!*+-/")  # allowed in a phrase too
_PARAMETER_BYTES = 54  # of an encoded parameter value on one line, percent signs counted
_UNQUOTABLE = frozenset("\"\\;%*'")  # readers disagree on these inside a quoted parameter


def text_header(name: str, value: str) -> str:
    """An unstructured header (Subject), folded; nothing for an empty value."""
    refuse_line_breaks(value, name)
    if not value:
        return ""
    words = value.split(" ") if _is_plain(value) else _encoded_words(value, len(name) + 2)
    return _folded(name, words)


def address_header(name: str, addresses: Sequence[Address]) -> str:
    """From, To, Cc, ...: one address after the other, each checked; nothing if there are none."""
    if not addresses:
        return ""
    pieces: list[str] = []
    for address in addresses:
        pieces += _mailbox(address, name)
        pieces[-1] += ","
    pieces[-1] = pieces[-1][:-1]
    return _folded(name, pieces)


def wire_address(email: str) -> str:
    """After a plain name the domain is written in its ASCII form, which every server supports."""
    local, _, domain = email.rpartition("@")
    is_plain = domain.isascii() or not local.isascii()
    return email if is_plain else f"{local}@{ascii_domain(domain_key(domain))}"


def id_header(name: str, ids: Iterable[str]) -> str:
    """Message-ID, In-Reply-To, References."""
    wanted = [message_id for message_id in ids if message_id]
    for message_id in wanted:
        if not is_message_id(message_id):
            raise InvalidRequest(f"The {name} is not a message id like <abc@example.com>.", details={"field": name})
    return _folded(name, wanted) if wanted else ""


def is_message_id(text: str) -> bool:
    return _MESSAGE_ID.match(text) is not None


def parameters_header(name: str, value: str, parameters: Iterable[tuple[str, str]] = ()) -> str:
    """Content-Type and similar. A parameter that clients might misread in quotes is written as RFC 2231 says."""
    pieces = [value]
    for key, text in parameters:
        refuse_line_breaks(text, key)
        pieces[-1] += ";"
        pieces += [f'{key}="{text}"'] if _is_quotable(text) else _extended(key, text)
    return _folded(name, pieces)


def ascii_fallback(text: str) -> str:
    """The closest name in plain letters, for clients that support nothing else."""
    bare = unicodedata.normalize("NFKD", text)
    return "".join(
        char if char.isascii() and char.isprintable() and char not in _UNQUOTABLE else "_"
        for char in bare
        if not unicodedata.combining(char)
    )


def _is_plain(value: str) -> bool:
    """Plain words with single spaces between them survive folding and every client; anything else is encoded."""
    words = value.split(" ")
    is_simple = value.isascii() and value.isprintable() and "=?" not in value
    return is_simple and all(0 < len(word) < _ENCODED_WORD for word in words)


def _is_quotable(text: str) -> bool:
    return text.isascii() and text.isprintable() and len(text) < FOLD - 18 and not _UNQUOTABLE & set(text)


def _mailbox(address: Address, field: str) -> list[str]:
    """The pieces of one address between which a line may break."""
    refuse_line_breaks(address.name, f"{field} name")
    email = wire_address(check_email(address.email))
    name = address.name.strip(" \t")
    if not name:
        return [email]
    if not _is_plain(name):
        return [*_encoded_words(name, len(field) + 2), f"<{email}>"]
    if _ATOMS.match(name):
        return [*name.split(" "), f"<{email}>"]
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return [*f'"{escaped}"'.split(" "), f"<{email}>"]


def _encoded_words(value: str, taken: int) -> list[str]:
    """The whole value as encoded-words; `taken` columns of the first line are already used."""
    encoding = _cheaper_encoding(value.encode())
    words, chunk, room = [], "", FOLD - taken
    for char in value:
        if chunk and len(_encoded_word(chunk + char, encoding)) > min(room, _ENCODED_WORD):
            words.append(_encoded_word(chunk, encoding))
            chunk, room = "", _ENCODED_WORD
        chunk += char
    return [*words, _encoded_word(chunk, encoding)]


def _cheaper_encoding(data: bytes) -> str:
    escaped = sum(1 for byte in data if byte not in _Q_PLAIN and byte != 0x20)
    return "q" if len(data) + 2 * escaped <= len(data) * 4 / 3 + 2 else "b"


def _encoded_word(chunk: str, encoding: str) -> str:
    data = chunk.encode()
    if encoding == "b":
        return f"=?utf-8?b?{binascii.b2a_base64(data, newline=False).decode()}?="
    text = "".join(chr(b) if b in _Q_PLAIN else "_" if b == 0x20 else f"={b:02X}" for b in data)
    return f"=?utf-8?q?{text}?="


def _extended(key: str, text: str) -> list[str]:
    """``filename*0*=utf-8''...; filename*1*=...``: RFC 2231, split so that each piece has its own line."""
    chunks = list(_percent_chunks(text))
    if len(chunks) == 1:
        return [f"{key}*=utf-8''{chunks[0]}"]
    pieces = [f"{key}*{number}*={chunk}" for number, chunk in enumerate(["utf-8''" + chunks[0], *chunks[1:]])]
    return [f"{piece};" for piece in pieces[:-1]] + pieces[-1:]


def _percent_chunks(text: str) -> Iterator[str]:
    chunk = ""
    for char in text:
        escaped = quote(char, safe="")
        if len(chunk) + len(escaped) > _PARAMETER_BYTES:
            yield chunk
            chunk = ""
        chunk += escaped
    yield chunk


def _folded(name: str, pieces: Sequence[str]) -> str:
    """The pieces joined by single spaces, broken before the piece that would pass column 78."""
    lines, line = [], f"{name}:"
    for piece in pieces:
        if len(line) + 1 + len(piece) > FOLD and line != f"{name}:":
            lines.append(line)
            line = ""
        line += f" {piece}"
    return CRLF.join([*lines, line]) + CRLF
