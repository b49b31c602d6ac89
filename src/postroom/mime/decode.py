"""Transfer encodings undone: base64, quoted-printable and uuencode as mail really holds them. Nothing here raises."""

from __future__ import annotations

import binascii
import re

from postroom.mime.charsets import decode_text as decode_text

_BASE64_ONLY = re.compile(rb"[A-Za-z0-9+/=\s]+\Z")
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64 = bytes(byte for byte in range(256) if byte not in _BASE64)
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def decode_transfer(data: bytes, encoding: str) -> bytes:
    """`encoding` is the lower-case Content-Transfer-Encoding; an unknown one means the bytes as they are."""
    if encoding == "base64":
        return from_base64(data)
    if encoding == "quoted-printable":
        return binascii.a2b_qp(data)
    if encoding in ("x-uuencode", "uuencode", "x-uue", "uue"):
        return _from_uuencode(data)
    return data


def decoded_size(data: bytes, encoding: str) -> int:
    """The size `decode_transfer` would give, without decoding base64: attachments are listed far more than opened."""
    if encoding != "base64":
        return len(decode_transfer(data, encoding))
    return _size_by_lines(data.rstrip()) or len(from_base64(data))


def _size_by_lines(data: bytes) -> int:
    """By arithmetic, where all lines are of one length and only the last is padded; else 0."""
    width = data.find(b"\n") + 1
    ends = data[width - 1 :: width] if width else b""
    returns = data[width - 2 :: width] if width > 1 and data[width - 2] == 13 else b""
    is_even = ends.count(b"\n") == len(ends) and returns.count(b"\r") == len(returns)
    if not is_even or b"=" in data[:width]:
        return 0
    padding = len(data) - len(data.rstrip(b"="))
    return (len(data) - len(ends) - len(returns) - padding) * 3 // 4


def from_base64(data: bytes) -> bytes:
    """Decode what can be decoded: stray characters skipped, a missing end supplied, chunks after a padding read too."""
    data = data.rstrip()
    padding = data.find(b"=")
    try:
        if padding < 0 or padding >= len(data) - 2:
            return binascii.a2b_base64(data)
    except binascii.Error:
        return _lenient_base64(data)
    head, rest = data[:padding], data[padding:]
    # A list's footer in clear text may follow the padding; only what is base64 through and through is more content.
    if not _BASE64_ONLY.match(rest):
        return _lenient_base64(head)
    return b"".join(_lenient_base64(chunk) for chunk in re.split(rb"=+", data))


def _lenient_base64(data: bytes) -> bytes:
    letters = data.translate(_URL_SAFE, b"").translate(None, _NOT_BASE64)
    whole = len(letters) - (len(letters) % 4 == 1)
    return binascii.a2b_base64(letters[:whole] + b"=" * (-whole % 4))


def _from_uuencode(data: bytes) -> bytes:
    out = []
    for line in data.splitlines():
        if line.startswith(b"begin ") or not line.strip():
            continue
        if line.strip() == b"end":
            break
        out.append(_uu_line(line))
    return b"".join(out)


def _uu_line(line: bytes) -> bytes:
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        # Some writers leave out or add trailing blanks: the first byte says how much of the line counts.
        letters = (((line[0] - 32) & 63) * 4 + 5) // 3
        try:
            return binascii.a2b_uu(line[:letters].ljust(letters))
        except binascii.Error:
            return b""
