"""How much of a message has to be read to know what it says: files within it are measured, not decoded."""

from __future__ import annotations

import re
from typing import Final

_MARK: Final = b"\n--"  # before every boundary, and rarely elsewhere
_MOST_MARKS: Final = 40
_FILE: Final = 4096  # bytes from which on a part is worth a look
_OF_A_FILE = re.compile(rb"^content-type[ \t]*+:[ \t]*+(?:application|audio|image|video)/", re.MULTILINE)
_BASE64 = re.compile(rb"^content-transfer-encoding[ \t]*+:[ \t]*+base64[ \t]*+\r?$", re.MULTILINE)


def bytes_to_read(raw: bytes) -> int:
    """Without what plainly are files in base64. A guess by the looks, for whoever decides where to parse a message:
    what is taken for a file and is none has no spaces, and takes little longer to parse than one."""
    parts = raw.split(_MARK, _MOST_MARKS + 1)
    files = [0, *map(_file_in, parts[1:])]
    others = [part for part, file in zip(parts, files, strict=True) if not file]
    return len(raw) if len(parts) > _MOST_MARKS or any(map(_may_be_uuencoded, others)) else len(raw) - sum(files)


def _may_be_uuencoded(part: bytes) -> bool:
    """What looks like a file may be within it, and is decoded line by line then."""
    return b"uue" in part.lower()


def _file_in(part: bytes) -> int:
    head_end = part.find(b"\r\n\r\n", 0, _FILE)
    if len(part) < _FILE or head_end < 0 or part.find(b" ", head_end) >= 0:
        return 0
    if part.find(b"-", head_end) >= 0:  # a boundary after a bare CR begins another part
        return 0
    head = part[:head_end].lower()
    is_file = head.count(b"\ncontent-type") == 1 and _OF_A_FILE.search(head) and _BASE64.search(head)
    return len(part) - head_end if is_file else 0
