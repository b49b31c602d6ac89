"""What a server tells of a folder when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Opened:
    """The open folder, as it was when it was opened. `keywords` are those in use, `takes_keywords` whether new ones may
    be created."""

    folder: str
    writable: bool
    validity: int
    next_uid: int
    messages: int
    keywords: tuple[str, ...]
    takes_keywords: bool

    def has_same_messages(self, other: Opened) -> bool:
        """As far as the numbers tell: none came, and none left."""
        mine, theirs = ((it.validity, it.next_uid, it.messages) for it in (self, other))
        return mine == theirs and 0 not in mine[:2]


def read_opened(folder: str, writable: bool, answer: Mapping[bytes, Any]) -> Opened:
    flags = [flag.decode("ascii", "replace") for flag in answer.get(b"FLAGS", ())]
    return Opened(
        folder,
        writable,
        int(answer.get(b"UIDVALIDITY", 0)),
        int(answer.get(b"UIDNEXT", 0)),
        int(answer.get(b"EXISTS", 0)),
        tuple(flag for flag in flags if not flag.startswith("\\")),
        rb"\*" in answer.get(b"PERMANENTFLAGS", ()),
    )
