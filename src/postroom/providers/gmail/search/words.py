"""A query in Gmail's own words, as two bounds where they differ (`querying.bounds`).

Gmail matches whole words. Its `to:` also finds copies and blind copies, and what it calls an attachment's name it
splits into words: both are decided here, message by message. Times go out as seconds: a bare date is a day in
California.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from postroom.model.query.tree import (
    After,
    Before,
    Correspondent,
    Filename,
    HasAttachment,
    In,
    Is,
    Label,
    Larger,
    Leaf,
    MessageId,
    Node,
    Smaller,
    Subject,
    Text,
)
from postroom.model.words import words
from postroom.providers.gmail.mail.labels import ANSWERED, ARCHIVE, DISCARDED, FORWARDED, LabelSet
from postroom.providers.gmail.session.wire import DRAFT, INBOX, SENT, SPAM, TRASH
from postroom.providers.querying import gmail_words
from postroom.providers.querying.bounds import Bounds, Joints, bounds_of, exact

ALL, NONE = "", "\0"  # every message, and none: what a query cannot say
LONGEST = 1400  # characters that Gmail surely takes

_FIRST_SECOND = 10**8  # 1973; fewer digits would be read as a date, and no email is older
_FLAGS = {"unread": "is:unread", "read": "is:read", "starred": "is:starred", "unstarred": "-is:starred"}
_PLACES = {INBOX: "in:inbox", SENT: "in:sent", DRAFT: "in:drafts", TRASH: "in:trash", SPAM: "in:spam"}
_PLACES[ARCHIVE] = "in:archive"  # also what is shown under its labels
_HIDDEN = ["-in:trash", "-in:spam"]
_KEYWORDS = ("or", "and", "not", "around")
_PLAIN = re.compile(r"[^\W_]+(?:-[^\W_]+)*\Z")
_MESSAGE_ID = re.compile(r"<?([^\s<>(){}\"]+)>?\Z")
_UNDECIDED = Bounds(ALL, NONE)

Say = Callable[[Leaf], Bounds[str]]


@dataclass(frozen=True, slots=True)
class Speaker:
    """Says single conditions; it knows the labels of the mailbox."""

    labels: LabelSet

    def __call__(self, leaf: Leaf) -> Bounds[str]:  # noqa: C901 - one arm per leaf of the language
        match leaf:
            case Text(prefix=True):
                return Bounds(ALL, _phrase(leaf.value)) if words(leaf.value) else exact(NONE)
            case Text():
                return exact(_phrase(leaf.value))
            case Subject():
                return exact(_phrase(leaf.value, "subject:"))
            case Correspondent():
                return _correspondent(leaf)
            case HasAttachment():
                return exact(gmail_words.HAS_ATTACHMENT)
            case Filename():
                surely = _phrase(leaf.value, gmail_words.FILENAME)
                return Bounds(any_of([surely, gmail_words.HAS_ATTACHMENT]), surely)
            case Is():
                return self._flagged(leaf.flag)
            case In():
                return self._placed(leaf.folder)
            case Label():
                return self._labelled(leaf.name)
            case After():
                return exact(_seconds("after:", leaf.moment, too_early=ALL))
            case Before():
                return exact(_seconds("before:", leaf.moment, too_early=NONE))
            case Larger():
                return exact(f"larger:{max(leaf.size, -1) + 1}")
            case Smaller():
                return exact(f"smaller:{leaf.size}" if leaf.size > 0 else NONE)
            case MessageId():
                found = _MESSAGE_ID.match(leaf.value)
                return exact(f"rfc822msgid:{found[1]}" if found else NONE)

    def _flagged(self, flag: str) -> Bounds[str]:
        if flag == "draft":
            return exact(_PLACES[DRAFT])
        if flag in _FLAGS:
            return exact(_FLAGS[flag])
        return self._labelled(ANSWERED if flag == "answered" else FORWARDED)

    def _placed(self, folder: str) -> Bounds[str]:
        """A message in Trash or Spam is nowhere else, whatever labels it still has."""
        ref = self.labels.folder(folder).ref
        if ref in DISCARDED:
            return exact(_PLACES[ref])
        named = exact(_PLACES[ref]) if ref in _PLACES else self._labelled(self.labels.name_of(ref))
        return Bounds(all_of([named.upper, *_HIDDEN]), all_of([named.lower, *_HIDDEN]))

    def _labelled(self, name: str) -> Bounds[str]:
        """By name only if no other name could be meant: in a query one sign stands for many."""
        label = self.labels.named(name)
        if label is None:
            return exact(NONE)
        is_plain = _PLAIN.match(label.name) and label.name.casefold() not in _KEYWORDS
        alike = sum(_in_a_query(other.name) == _in_a_query(label.name) for other in self.labels.own)
        return exact(f"label:{label.name}") if is_plain and alike == 1 else _UNDECIDED


def _in_a_query(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.casefold())


def spoken(node: Node, say: Say) -> Bounds[str]:
    return bounds_of(node, say, Joints(_negated, all_of, any_of))


def _phrase(value: str, operator: str = "") -> str:
    return gmail_words.phrase(value, operator) or NONE


def _correspondent(leaf: Correspondent) -> Bounds[str]:
    said = _phrase(leaf.value, f"{leaf.field}:")
    if leaf.field != "to" or said == NONE:
        return exact(said)
    others = [f"-{_phrase(leaf.value, field)}" for field in ("cc:", "bcc:")]
    return Bounds(said, all_of([said, *others]))


def _seconds(operator: str, moment: datetime, *, too_early: str) -> str:
    seconds = math.ceil(moment.timestamp())
    return f"{operator}{seconds}" if seconds >= _FIRST_SECOND else too_early


def _negated(said: str) -> str:
    if said in (ALL, NONE):
        return NONE if said == ALL else ALL
    return said[1:] if said.startswith("-") and _is_one(said) else f"-{_as_one(said)}"


def all_of(parts: list[str]) -> str:
    parts = [part for part in dict.fromkeys(parts) if part != ALL]
    return NONE if NONE in parts else " ".join(parts)


def any_of(parts: list[str]) -> str:
    parts = [part for part in dict.fromkeys(parts) if part != NONE]
    if not parts or ALL in parts:
        return ALL if parts else NONE
    return parts[0] if len(parts) == 1 else "{" + " ".join(map(_as_one, parts)) + "}"


def _as_one(said: str) -> str:
    return said if _is_one(said) else f"({said})"


def _is_one(said: str) -> bool:
    """Whether it is a single term: one word, one phrase or one group, with or without a minus."""
    bare = said.removeprefix("-")
    if bare.startswith("{"):
        return _closes_at_the_end(bare)
    return re.fullmatch(r'(?:[a-z0-9_]+:)?"[^"]*"|[^\s"(){}]+', bare) is not None


def _closes_at_the_end(group: str) -> bool:
    """Whether the bracket that opens it is the one that ends it."""
    depth, is_quoted = 0, False
    for place, char in enumerate(group):
        is_quoted ^= char == '"'
        if not is_quoted:
            depth += (char in "{(") - (char in "})")
        if depth == 0:
            return place == len(group) - 1
    return False
