"""The header block: where it ends, its fields, and their decoded values."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from postroom.mime.limits import MAX_HEADER_BYTES, MAX_HEADERS, MAX_VALUE
from postroom.mime.read.charsets import decode_text
from postroom.mime.read.decode import from_base64
from postroom.model.quickly_built import quickly_built

_FIELD = re.compile(r"^([!-9;-~]++)[ \t]*+:(.*)$", re.MULTILINE)
_BLANK_LINE = re.compile(rb"\n(?:\r\n|\n(?!\r\n))")
_JAPANESE: Final = b"\x1b$"  # how ISO-2022-JP begins letters: old programs write it without encoded words
_SUBJECT = re.compile(rb"^subject[ \t]*+:", re.IGNORECASE | re.MULTILINE)
_BREAKS = re.compile(r"[\r\n\0\x0b\x0c\x85\u2028\u2029]+")
_CHARSET = re.compile(rb"charset\s*=\s*\"?([\w.:-]{2,40})", re.IGNORECASE)
# An encoded word may contain a stray "?"; the second alternative is bounded so that hostile values stay linear.
_WORD = re.compile(r"=\?([^?*\s]{1,60})(?:\*[^?\s]{0,40})?\?([bBqQ])\?([^?]*+|.{0,200}?)\?=")
# The last word of a value may be truncated: some programs cut a long subject anywhere.
_CUT_WORD = re.compile(
    r"=\?([^?*\s]{1,60})(?:\*[^?\s]{0,40})?\?(?:([bB])\?([\w+/=]*+)|([qQ])\?([!->@-~]*+))\??\Z", re.ASCII
)
_HALF_ESCAPE = re.compile(r"=[0-9A-Fa-f]?\Z")

_ODD_LINES: Final = 4  # lines that are not fields: after two of them the body has started
_SHORT: Final = 200  # bytes of a block that is worth remembering: those of parts recur
_MAX_SUBJECT: Final = 2_000  # bytes of the subject of an attached message: it becomes a file name

_VALUE_CUT = "A header is too long; the rest was omitted."

Field = tuple[str, str]  # lower-case name, unfolded value with encoded words not yet decoded


@quickly_built
@dataclass(frozen=True, slots=True)
class HeaderBlock:
    fields: Sequence[Field]
    body_start: int  # offset of the first body byte in the bytes that were read
    defects: tuple[str, ...] = ()

    def first(self, name: str) -> str:
        """The raw value: structured fields are parsed before their words are decoded."""
        for key, value in self.fields:
            if key == name:
                return value
        return ""


def read_headers(
    data: bytes, start: int = 0, end: int | None = None, *, most: int = MAX_HEADERS, most_bytes: int = MAX_HEADER_BYTES
) -> HeaderBlock:
    """Read the fields at `start`. A block without any field is only a body."""
    separator, body_start = _find_end(data, start, len(data) if end is None else end)
    if separator - start <= _SHORT and most >= _SHORT and most_bytes >= _SHORT:  # none of the limits is reached
        fields = _usual_fields(data[start:separator])
        if fields is not None:
            return HeaderBlock(fields, body_start)
    return _read_block(data, start, separator, body_start, most, most_bytes)


@lru_cache(maxsize=512)
def _usual_fields(block: bytes) -> Sequence[Field] | None:
    """None if there is anything to say about it."""
    found = _read_block(block, 0, len(block), 0, MAX_HEADERS, MAX_HEADER_BYTES)
    return None if found.defects else tuple(found.fields)


def _read_block(data: bytes, start: int, separator: int, body_start: int, most: int, most_bytes: int) -> HeaderBlock:
    cut = min(separator, start + most_bytes)
    block = data[start:cut].rstrip(b"\r\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    block = block.replace(b"\n ", b" ").replace(b"\n\t", b" ")
    has_more = cut < separator
    if block.isascii() and _JAPANESE not in block and block.count(b"\n") < most + _ODD_LINES:
        text = block.decode("ascii")
    else:
        lines = block.split(b"\n", most + _ODD_LINES)
        has_more = has_more or len(lines) > most + _ODD_LINES
        text = _text(lines[: most + _ODD_LINES])
    found = _FIELD.findall(text)
    fields: list[Field] = [(name.lower(), value.strip()) for name, value in found]
    defects: list[str] = []
    if len(text) > MAX_VALUE and any(len(value) > MAX_VALUE for _, value in found):
        fields = [(name.lower(), value[:MAX_VALUE].strip()) for name, value in found]
        defects = [_VALUE_CUT]
    if len(fields) <= text.count("\n") or (text and not fields):
        fields, odd_line = _fields_among_odd_lines(text.split("\n"))
        if odd_line:
            defects.append("A line among the headers is not a header; the body was assumed to start there.")
            line_start = data.find(odd_line[:30].encode("utf-8", "replace"), start, separator)
            body_start = line_start if line_start >= 0 else body_start
    if has_more or len(fields) > most:
        defects.append("The header block is too long; the rest was omitted.")
    return HeaderBlock(fields[:most], body_start, tuple(defects))


def subject_of(data: bytes, start: int, end: int) -> str:
    """Of the message at that place: its other headers, of which there may be many, are not read."""
    separator, _ = _find_end(data, start, end)
    found = _SUBJECT.search(data, start, separator)
    return (
        decode_value(read_headers(data, found.start(), separator, most=1, most_bytes=_MAX_SUBJECT).first("subject"))
        if found
        else ""
    )


def _find_end(data: bytes, start: int, end: int) -> tuple[int, int]:
    """(end of the header block, start of the body): a blank line of either kind, or the end of everything."""
    for blank in (b"\r\n", b"\n"):
        if data.startswith(blank, start, end):
            return start, start + len(blank)
    if found := _BLANK_LINE.search(data, start, end):
        return found.start(), found.end()
    bare = data.find(b"\r\r", start, end) if data.find(b"\n", start, end) < 0 else -1
    return (bare, bare + 2) if bare >= 0 else (end, end)


def _text(lines: list[bytes]) -> str:
    """Raw 8-bit bytes are UTF-8, else most likely in the charset that the message declares for its text."""
    block = b"\n".join(lines)
    if block.isascii() and _JAPANESE not in block:
        return block.decode("ascii")
    named = _CHARSET.search(block)
    charset = named[1].decode("ascii") if named else ""
    return "\n".join([_line(line, charset) for line in lines])


def _line(line: bytes, charset: str) -> str:
    if not line.isascii():
        return decode_text(line, charset).replace("\n", " ")
    return decode_text(line, "iso-2022-jp") if _JAPANESE in line else line.decode("ascii")


def _fields_among_odd_lines(lines: list[str]) -> tuple[list[Field], str]:
    """The fields, and the line at which the body actually starts. A single odd line between fields is skipped."""
    odd = [index for index, line in enumerate(lines) if line.strip() and not _FIELD.match(line)]
    if odd and odd[0] == 0 and lines[0].startswith(("From ", ">From ")):
        odd.pop(0)  # the separator line of an mbox
    if odd and (len(odd) > 1 or odd[0] == len(lines) - 1):
        fields, _ = _fields_among_odd_lines(lines[: odd[0]])
        return fields, lines[odd[0]]
    found = map(_FIELD.match, lines)
    return [(field[1].lower(), field[2][:MAX_VALUE].strip()) for field in found if field], ""


def decode_value(text: str) -> str:
    """An unstructured value: encoded words decoded, no line breaks."""
    if "=?" not in text and text.isprintable():
        return text
    return decode_words(text).strip()


def decode_words(text: str) -> str:
    """RFC 2047. Neighbouring words of one charset are joined as bytes first: a letter may be split between them."""
    if "=?" in text:
        text = "".join(_joined(_pieces(text)))
    return _BREAKS.sub(" ", text)


def _pieces(text: str) -> Iterator[tuple[str, bytes | str]]:
    """(charset, bytes) for an encoded word, ("", str) for plain text; spaces between two words are dropped."""
    position = 0
    for word in _WORD.finditer(text):
        between = text[position : word.start()]
        if between and (position == 0 or between.strip()):
            yield "", between
        yield word[1].lower(), _word_bytes(word[2], word[3])
        position = word.end()
    if position < len(text):
        yield from _last_piece(text[position:], after_word=position > 0)


def _last_piece(text: str, *, after_word: bool) -> Iterator[tuple[str, bytes | str]]:
    cut = _CUT_WORD.search(text, max(0, len(text) - 1_200)) if "=?" in text else None
    before = text[: cut.start()] if cut else text
    if before and not (cut and after_word and not before.strip()):
        yield "", before
    if cut:
        content = _word_bytes(cut[2] or cut[4], _HALF_ESCAPE.sub("", cut[3] or cut[5] or ""))
        is_utf8 = cut[1].lower().startswith("utf-8")  # half a letter of it may be left
        yield cut[1].lower(), content.decode("utf-8", "ignore").encode() if is_utf8 else content


def _joined(pieces: Iterable[tuple[str, bytes | str]]) -> Iterator[str]:
    for charset, group in groupby(pieces, key=itemgetter(0)):
        contents = [content for _, content in group]
        if charset:
            yield decode_text(b"".join(content for content in contents if isinstance(content, bytes)), charset)
        else:
            yield from (content for content in contents if isinstance(content, str))


def _word_bytes(encoding: str, content: str) -> bytes:
    raw = content.encode("utf-8", "replace")
    return from_base64(raw) if encoding in "bB" else binascii.a2b_qp(raw, header=True)
