"""Names and prices of the API, and careful reading of what it returns: any field may be missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from postroom.model.errors import NotFound

JSON = dict[str, Any]
PROVIDER = "gmail"

USER = "/gmail/v1/users/me/"
UPLOAD = "/upload/gmail/v1/users/me/"
BATCH = "/batch/gmail/v1"

INBOX, SENT, DRAFT, TRASH, SPAM = "INBOX", "SENT", "DRAFT", "TRASH", "SPAM"
UNREAD, STARRED = "UNREAD", "STARRED"

PER_BATCH = 25  # calls; Google allows 100, and begins to refuse single ones far below that
PER_CHANGE = 1000  # messages of one batchModify
PER_PAGE = 500  # messages of one list

# Quota units. Google has two tables; where they differ, this is the more expensive one.
UNITS = {
    "profile": 1,
    "messages": 5,
    "message": 20,
    "attachment": 20,
    "batchModify": 50,
    "thread": 40,
    "drafts": 5,
    "draft": 20,
    "draft.create": 10,
    "draft.update": 15,
    "draft.delete": 10,
    "draft.send": 100,
    "labels": 1,
    "label.change": 5,
    "history": 2,
    "settings": 1,
    "sendAs.create": 100,
    "filter.change": 5,
    "vacation.change": 5,
}

# Whatever else is in an id could lead to another path.
_ID = re.compile(r"[A-Za-z0-9:_-]{1,100}\Z")


@dataclass(frozen=True, slots=True)
class Get:
    """A read that can be part of a batch. `path` is below the user."""

    path: str
    units: int
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        query = urlencode(self.params, doseq=True)
        return f"{USER}{self.path}{f'?{query}' if query else ''}"


def message_path(ref: str) -> str:
    return f"messages/{checked_id(ref, 'message')}"


def message(ref: str, *, form: str = "full", fields: str = "") -> Get:
    return Get(message_path(ref), UNITS["message"], {"format": form, **({"fields": fields} if fields else {})})


def thread(ref: str, *, form: str = "full") -> Get:
    return Get(f"threads/{checked_id(ref, 'thread')}", UNITS["thread"], {"format": form})


def draft(ref: str, *, form: str) -> Get:
    return Get(f"drafts/{checked_id(ref, 'draft')}", UNITS["draft"], {"format": form})


def checked_id(ref: str, what: str) -> str:
    """An id for a path. One that Gmail cannot have given out names nothing."""
    if not _ID.match(ref):
        raise gone(what)
    return quote(ref, safe="")


def gone(what: str) -> NotFound:
    if what == "draft":
        return NotFound("This draft no longer exists: it was sent or deleted. Call list_drafts.", reason="draft_gone")
    if what == "thread":
        return NotFound("This thread no longer exists. Search for it again.", reason="thread_gone")
    return NotFound("This email no longer exists. List or search again.", reason="email_gone")


def object_of(value: Any) -> JSON:
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[JSON]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def texts_of(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def number_of(value: Any) -> int:
    """Counts come as numbers, 64-bit values as text."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,20}", value) else 0
