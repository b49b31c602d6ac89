"""Decoding of base64, quoted-printable and uuencode as they occur in real mail. Nothing here raises."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Final

from postroom.mime.limits import MAX_UU_LINES
from postroom.mime.read.charsets import decode_text as decode_text

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64 = bytes(byte for byte in range(256) if byte not in _BASE64)
_IN_BASE64 = _BASE64 + b"=-_\r\n"
_UUENCODE: Final = frozenset({"x-uuencode", "uuencode", "x-uue", "uue"})
_UU_ODD = frozenset(b" \t\r\n\x0b\x0cbe")  # the first bytes of blank lines, "begin" and "end"
_SOFT_BREAK = re.compile(rb"=[ \t]++(?=\r?\n)")  # blanks that were added to the line on its way
_BLANK_AFTER_SIGN = re.compile(rb"=[ \t]")  # found in half the time that `in` takes for two bytes
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def decode_transfer(data: bytes, encoding: str, most: int | None = None) -> bytes:
    """`encoding` is the lower-case Content-Transfer-Encoding; for an unknown one the bytes are returned unchanged. Of a
    uuencoded part, whose lines may claim to be longer than they are, little more than `most` bytes."""
    if encoding == "base64":
        return from_base64(data)
    if encoding == "quoted-printable":
        return binascii.a2b_qp(_SOFT_BREAK.sub(b"=", data) if _BLANK_AFTER_SIGN.search(data) else data)
    return b"".join(_up_to(most, _from_uuencode(data))) if encoding in _UUENCODE else data


def decoded_size(data: bytes, encoding: str, start: int = 0, end: int | None = None) -> int:
    """The size `decode_transfer` would give for [start:end], usually without decoding or even copying it.

    Attachments are listed far more often than they are opened.
    """
    end = len(data) if end is None else end
    if encoding in _UUENCODE:
        return sum(map(len, _from_uuencode(data[start:end])))
    size = _size_by_lines(data, start, end) if encoding == "base64" else 0
    return size or len(decode_transfer(data[start:end], encoding))


def _size_by_lines(data: bytes, start: int, end: int) -> int:
    """By arithmetic, if all lines of base64 have the same length and only the last is padded; else 0."""
    end -= 2 - len(data[max(start, end - 2) : end].rstrip(b"\r\n")) if end - start >= 2 else 0
    width = data.find(b"\n", start, end) + 1 - start
    if width <= 1 or b"=" in data[start : start + width]:
        return 0
    ends = data[start + width - 1 : end : width]
    returns = data[start + width - 2 : end : width] if data[start + width - 2] == 13 else b""
    last_line = data[start + len(ends) * width : end]
    if ends.count(b"\n") != len(ends) or returns.count(b"\r") != len(returns) or [last_line] != last_line.split():
        return 0
    if data.find(b"=", start, end - 2) >= 0:
        return 0  # an earlier padding ends it
    padding = data.count(b"=", end - 2, end)
    return (end - start - len(ends) - len(returns) - padding) * 3 // 4


def from_base64(data: bytes) -> bytes:
    """Decode what can be decoded: stray characters skipped, missing padding added. Padding is the end: what follows
    it (a list's footer, for example) is not content, as RFC 2045 says."""
    try:
        return binascii.a2b_base64(data)
    except binascii.Error:
        return _lenient_base64(data)


def is_plain(data: bytes) -> bool:
    """Whether what claims to be base64 is plain text: its first line is none of base64, and one in twelve characters is
    not used there. A footer after encoded text comes later."""
    first = data.lstrip()[:1_000].partition(b"\n")[0].strip()
    if not first.translate(None, _IN_BASE64) and len(first) % 4 == 0:
        return False
    return 12 * len(data.translate(None, _IN_BASE64)) >= len(data) > 0


def begins_plain(data: bytes) -> bool:
    """Whether the first line has anything that base64 has not: words, or a rule above them."""
    return bool(data.lstrip()[:1_000].partition(b"\n")[0].strip().translate(None, _BASE64 + b"="))


def _lenient_base64(data: bytes) -> bytes:
    letters = data.translate(_URL_SAFE, b"").translate(None, _NOT_BASE64)
    whole = len(letters) - (len(letters) % 4 == 1)
    return binascii.a2b_base64(letters[:whole] + b"=" * (-whole % 4))


def _from_uuencode(data: bytes) -> Iterator[bytes]:
    """Line by line: a list of the lines of a large file takes several times its size."""
    for line in islice(BytesIO(data), MAX_UU_LINES):
        if line[0] in _UU_ODD:
            bare = line.strip()
            if not bare or line.startswith(b"begin "):
                continue
            if bare == b"end":
                break
        yield _uu_line(line)


def _up_to(most: int | None, pieces: Iterator[bytes]) -> Iterator[bytes]:
    if most is None:
        yield from pieces
        return
    for piece in pieces:
        yield piece
        most -= len(piece)
        if most < 0:
            return


def _uu_line(line: bytes) -> bytes:
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        line = line.rstrip(b"\r\n")
        # Some encoders drop or add trailing spaces: the first byte says how much of the line counts.
        letters = (((line[0] - 32) & 63) * 4 + 5) // 3
        try:
            return binascii.a2b_uu(line[:letters].ljust(letters))
        except binascii.Error:
            return b""
