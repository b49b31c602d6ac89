"""A query as a JMAP filter (RFC 8621, 4.4.1), within bounds.

The server matches words in its own way: whole words, usually with their other forms (``invoice`` also finds
``invoices``). That is taken as it is. Beginnings of words and names of files it cannot express; there the filter finds
everything that may match, and the rest is decided message by message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from postroom.model.folder import Folder
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
from postroom.providers.jmap.wire import ANSWERED, DRAFT, FLAGGED, FORWARDED, SEEN
from postroom.providers.keywords import keyword_of
from postroom.providers.querying.bounds import Bounds, Joints, bounds_of, exact

Filter = dict[str, Any]

ALL: Filter = {"operator": "AND", "conditions": []}
NONE: Filter = {"operator": "OR", "conditions": []}
_BEGINNING = datetime.min.replace(tzinfo=UTC)
_FLAGS: dict[str, Filter] = {
    "read": {"hasKeyword": SEEN},
    "unread": {"notKeyword": SEEN},
    "starred": {"hasKeyword": FLAGGED},
    "unstarred": {"notKeyword": FLAGGED},
    "draft": {"hasKeyword": DRAFT},
    "answered": {"hasKeyword": ANSWERED},
    "forwarded": {"hasKeyword": FORWARDED},
}


def filter_of(node: Node, folders: Mapping[str, Folder]) -> Bounds[Filter]:
    """`folders` has every folder that the query names."""
    return bounds_of(node, _said(folders), _JOINTS)


def all_of(filters: list[Filter]) -> Filter:
    kept = [one for one in filters if one != ALL]
    if NONE in kept:
        return NONE
    return kept[0] if len(kept) == 1 else {"operator": "AND", "conditions": kept}


def any_of(filters: list[Filter]) -> Filter:
    kept = [one for one in filters if one != NONE]
    if ALL in kept:
        return ALL
    return kept[0] if len(kept) == 1 else {"operator": "OR", "conditions": kept}


def negated(one: Filter) -> Filter:
    if one in (ALL, NONE):
        return NONE if one == ALL else ALL
    return {"operator": "NOT", "conditions": [one]}


_JOINTS = Joints(negated, all_of, any_of)


def _said(folders: Mapping[str, Folder]) -> Callable[[Leaf], Bounds[Filter]]:  # noqa: C901 - one arm per leaf of the language
    def say(leaf: Leaf) -> Bounds[Filter]:  # noqa: C901 - one arm per leaf of the language
        match leaf:
            case Text():
                return _text(leaf)
            case Subject():
                return exact(_words("subject", leaf.value, phrase=leaf.phrase))
            case Correspondent():
                return exact(_words(leaf.field, leaf.value, phrase=True))
            case HasAttachment():
                return exact({"hasAttachment": True})
            case Filename():
                return Bounds({"hasAttachment": True}, NONE)
            case Is():
                return exact(_FLAGS[leaf.flag])
            case In():
                return exact({"inMailbox": folders[leaf.folder].ref})
            case Label():
                return exact({"hasKeyword": keyword_of(leaf.name)})
            case After():
                return exact({"after": _moment(leaf.moment)})
            case Before():
                return exact({"before": _moment(leaf.moment, is_end=True)})
            case Larger():
                return exact({"minSize": leaf.size + 1})
            case Smaller():
                return exact({"maxSize": leaf.size})
            case MessageId():
                return Bounds({"header": ["Message-ID", leaf.value]}, NONE)

    return say


def _text(leaf: Text) -> Bounds[Filter]:
    if leaf.prefix and words(leaf.value):
        return Bounds(ALL, NONE)
    return exact(_words("text", leaf.value, phrase=leaf.phrase))


def _words(field: str, value: str, *, phrase: bool) -> Filter:
    """Quotes make a phrase; what contains no word is in no message."""
    bare = " ".join("".join(char if char.isprintable() and char not in '"\\' else " " for char in value).split())
    if not words(bare):
        return NONE
    return {field: f'"{bare}"' if phrase and " " in bare else bare}


def _moment(moment: datetime, *, is_end: bool = False) -> str:
    """Whole seconds, rounded up: both bounds compare with dates of whole seconds. An end is a moment earlier, since
    Cyrus 3.6 takes what arrived in that very second for earlier, and leaves fractions out."""
    utc = moment.astimezone(UTC)
    whole = utc.replace(microsecond=0)
    whole += timedelta(seconds=whole != utc)
    if is_end and whole > _BEGINNING:
        return _written(whole - timedelta(seconds=1), ".999")
    return _written(whole)


def _written(whole: datetime, fraction: str = "") -> str:
    return f"{whole.replace(tzinfo=None).isoformat()}{fraction}Z"
