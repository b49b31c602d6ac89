"""Pictures: which format they are, and how large a picture they claim to hold. Nothing is decoded."""

from __future__ import annotations

import struct
from typing import Final

from postroom.mime.documents.limits import MAX_IMAGE, MAX_SIDE

_SIGNATURES: Final = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg",
                      b"GIF87a": "image/gif", b"GIF89a": "image/gif"}  # fmt: skip
# Start-of-frame markers of JPEG: C0 to CF without those of tables and arithmetic coding.
_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_MAX_SEGMENTS: Final = 500


def type_of(content: bytes) -> str:
    """Empty where it is none of the formats that models are shown."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _SIGNATURES.items() if content.startswith(mark)), "")


def objection_to(content: bytes) -> str:
    """Why it is not shown, as a sentence; empty if it may be."""
    if len(content) > MAX_IMAGE:
        return f"The picture is larger than {MAX_IMAGE // 1000} KB and is not shown here."
    try:
        width, height = _sides(content)
    except (struct.error, IndexError):
        return "The picture is damaged and is not shown here."
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        return f"The picture claims {width} by {height} pixels and is not shown here (at most {MAX_SIDE} a side)."
    return ""


def _sides(content: bytes) -> tuple[int, int]:
    kind = type_of(content)
    if kind == "image/png":
        return _two(">II", content, 16)
    if kind == "image/gif":
        return _two("<HH", content, 6)
    return _jpeg(content) if kind == "image/jpeg" else _webp(content)


def _two(form: str, content: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, content, at)
    return first, second


def _jpeg(content: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(_MAX_SEGMENTS):
        while content[at] == 0xFF and content[at + 1] == 0xFF:  # padding between segments
            at += 1
        marker, length = struct.unpack_from(">xBH", content, at)
        if marker in _FRAMES:
            height, width = _two(">HH", content, at + 5)
            return width, height
        at += 2 + length
    return 0, 0


def _webp(content: bytes) -> tuple[int, int]:
    form = content[12:16]
    if form == b"VP8X":
        wide, high = (int.from_bytes(content[at : at + 3], "little") for at in (24, 27))
        return wide + 1, high + 1
    if form == b"VP8L":
        packed = int.from_bytes(content[21:25], "little")
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    width, height = _two("<HH", content, 26)
    return width & 0x3FFF, height & 0x3FFF
