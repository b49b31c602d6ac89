"""What an archived message's own headers say about flags, labels and folder: mbox status lines and Gmail's labels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from postroom.mime.read.headers import HeaderBlock, decode_value, read_headers
from postroom.model.query.tree import Flag

# Gmail's own labels, as a Takeout spells them, and where their messages belong. The first match decides.
_GMAIL_FOLDERS = {
    "trash": "Trash",
    "spam": "Junk",
    "draft": "Drafts",
    "drafts": "Drafts",
    "inbox": "INBOX",
    "sent": "Sent",
}
_GMAIL_FLAGS: dict[str, Flag] = {"unread": "unread", "starred": "starred", "draft": "draft", "drafts": "draft"}
_GMAIL_NOISE = {"opened", "important", "archived", "chat"}
_STATUS_FLAGS: dict[str, Flag] = {"R": "read", "F": "starred", "A": "answered"}
_MOZILLA_FLAGS: dict[int, Flag] = {0x1: "read", 0x2: "answered", 0x4: "starred", 0x1000: "forwarded"}
_LABEL = re.compile(r'"([^"]+)"|([^,"]+)')


@dataclass(frozen=True, slots=True)
class Marks:
    """`folder` empty means: wherever the archive itself is filed. Without a status, an old message counts as read."""

    folder: str = ""
    flags: tuple[Flag, ...] = ("read",)
    labels: tuple[str, ...] = ()


NO_MARKS = Marks()


def read_marks(raw: bytes) -> Marks:
    headers = read_headers(raw)
    gmail = headers.first("x-gmail-labels")
    return _from_gmail(decode_value(gmail)) if gmail else Marks(flags=_from_status(headers))


def _from_gmail(text: str) -> Marks:
    """``Inbox,Unread,"Smith, Jones",Category updates``: system labels become folder and flags, the user's own stay."""
    labels = [label for label in (match[1] or match[2].strip() for match in _LABEL.finditer(text)) if label]
    system = [label.casefold() for label in labels]
    folder = next((place for name, place in _GMAIL_FOLDERS.items() if name in system), "Archive")
    flags = {_GMAIL_FLAGS[name] for name in system if name in _GMAIL_FLAGS}
    if "unread" not in flags:
        flags.add("read")
    known = {*_GMAIL_FOLDERS, *_GMAIL_FLAGS, *_GMAIL_NOISE}
    own = (label for label, name in zip(labels, system, strict=True) if name not in known)
    kept = tuple(dict.fromkeys(label for label in own if not label.casefold().startswith("category ")))
    return Marks(folder, tuple(sorted(flags)), kept)


def _from_status(headers: HeaderBlock) -> tuple[Flag, ...]:
    """Status and X-Status of Unix mail programs, X-Mozilla-Status of Thunderbird."""
    letters = headers.first("status") + headers.first("x-status")
    mozilla = headers.first("x-mozilla-status")
    if not letters and not mozilla:
        return NO_MARKS.flags
    flags = {flag for letter, flag in _STATUS_FLAGS.items() if letter in letters}
    try:
        bits = int(mozilla or "0", 16)
    except ValueError:
        bits = 0
    flags |= {flag for bit, flag in _MOZILLA_FLAGS.items() if bits & bit}
    return tuple(sorted(flags if "read" in flags else {*flags, "unread"}))
