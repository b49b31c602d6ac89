"""A query as SEARCH keys. What a server cannot express exactly becomes two bounds (`querying.bounds`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from postroom.model.errors import InvalidRequest
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
from postroom.providers.keywords import keyword_of
from postroom.providers.querying.bounds import Bounds, Joints, bounds_of, exact


@dataclass(frozen=True, slots=True)
class Keys:
    """Search keys, word by word. `is_one`: a single key that needs no parentheses behind OR and NOT."""

    words: tuple[bytes, ...]
    is_one: bool = True


ALL = Keys((b"ALL",))
NONE = Keys((b"NOT", b"ALL"))
_SINCE_1980, _BEFORE_2100 = Keys((b"SENTSINCE", b"1-Jan-1980")), Keys((b"SENTBEFORE", b"1-Jan-2100"))
_READABLE = Keys((*_SINCE_1980.words, *_BEFORE_2100.words), is_one=False)  # a Date that every server reads alike

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FLAGS = {
    "unread": (b"UNSEEN",),
    "read": (b"SEEN",),
    "starred": (b"FLAGGED",),
    "unstarred": (b"UNFLAGGED",),
    "draft": (b"DRAFT",),
    "answered": (b"ANSWERED",),
    "forwarded": (b"KEYWORD", b"$Forwarded"),
}


Say = Callable[[Leaf], Bounds[Keys]]


def bounds(node: Node, say: Say | None = None) -> Bounds[Keys]:
    """`say` translates a single condition into search keys; by default those of any server."""
    return bounds_of(node, say or said, Joints(_negated, _all_of, any_of))


def said(leaf: Leaf) -> Bounds[Keys]:  # noqa: C901 - one arm per leaf of the language
    match leaf:
        case Text():
            return exact(_anywhere(leaf.value))
        case Subject():
            return exact(_holding(b"SUBJECT", leaf.value))
        case Correspondent():
            return exact(_holding(leaf.field.upper().encode(), leaf.value))
        case Is():
            return exact(Keys(_FLAGS[leaf.flag]))
        case Label():
            return exact(_labelled(leaf.name))
        case Larger():
            return exact(Keys((b"LARGER", b"%d" % max(leaf.size, 0))))
        case Smaller():
            return exact(Keys((b"SMALLER", b"%d" % max(leaf.size, 0))))
        case After():
            return _after(leaf.moment)
        case Before():
            return _before(leaf.moment)
        case HasAttachment():
            return _maybe_attached(b"$HasAttachment")
        case Filename():
            return _maybe_attached()
        case MessageId():
            return exact(Keys((b"HEADER", b"MESSAGE-ID", searchable(leaf.value))))
        case In():
            raise AssertionError("folders are decided before a server is asked")


def _maybe_attached(surely: bytes | None = None) -> Bounds[Keys]:
    """Servers that inspect messages on arrival set a keyword (registered with IANA); for others it is decided here."""
    lower = Keys((b"KEYWORD", surely)) if surely else NONE
    return Bounds(Keys((b"NOT", b"KEYWORD", b"$HasNoAttachment")), lower)


def _anywhere(value: str) -> Keys:
    """Not TEXT: that searches every header, and finds ``plain`` in each Content-Type."""
    if not words(value):
        return NONE
    return any_of([_holding(field, value) for field in (b"SUBJECT", b"FROM", b"TO", b"CC", b"BCC", b"BODY")])


def _holding(field: bytes, value: str) -> Keys:
    return Keys((field, searchable(value))) if words(value) else NONE


def _labelled(name: str) -> Keys:
    try:
        return Keys((b"KEYWORD", keyword_of(name).encode("ascii")))
    except InvalidRequest:
        return NONE  # a label the server could not store is on no message


def dated(key: bytes, moment: datetime, days: int) -> Keys:
    """Servers compare dates only and ignore the time zone of a message: one day of margin on either side."""
    day = moment.astimezone(UTC).date()
    with suppress(OverflowError):  # at either end of the calendar there is no room for a margin
        day += timedelta(days=days)
    return Keys((key, f"{day.day}-{_MONTHS[day.month - 1]}-{day.year:04d}".encode()))


def _after(moment: datetime) -> Bounds[Keys]:
    """A message without a Date that can be read has the date of its arrival. Servers that put it in 1970, or that find
    it by no date, leave it to be decided here; so does Dovecot, for which 1969 comes after 2100."""
    undated = _all_of([_negated(_READABLE), dated(b"SINCE", moment, -1)])
    surely = _all_of([dated(b"SENTSINCE", moment, 2), _BEFORE_2100])
    return Bounds(any_of([dated(b"SENTSINCE", moment, -1), undated]), surely)


def _before(moment: datetime) -> Bounds[Keys]:
    surely = _all_of([dated(b"SENTBEFORE", moment, -1), _SINCE_1980])
    return Bounds(any_of([dated(b"SENTBEFORE", moment, 2), _negated(_READABLE)]), surely)


def not_before(moment: datetime) -> Keys:
    """Every message that SORT may place there, and some more. Where a Date header is missing or cannot be read, SORT
    goes by the time of arrival; for SENTBEFORE some servers do so too, for some no date matches, and for others
    (Dovecot 2.3) it is 1970. The time of arrival alone tells little: of copied mailboxes it is that of the copy."""
    undated = Keys((b"SENTBEFORE", b"1-Jan-1980"))
    return any_of([_negated(dated(b"SENTBEFORE", moment, -1)), _all_of([dated(b"SINCE", moment, -1), undated])])


def searchable(value: str) -> bytes:
    """A quoted string, or raw non-ASCII bytes that are sent as a literal. Control characters match nothing."""
    text = "".join(char if char.isprintable() else " " for char in value).strip()
    if not text.isascii():
        return text.encode("utf-8", "replace")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.encode()


def _negated(keys: Keys) -> Keys:
    if keys == ALL:
        return NONE
    if keys.is_one and keys.words[0] == b"NOT":  # Courier cannot read NOT NOT; NONE is NOT ALL
        return Keys(keys.words[1:])
    return Keys((b"NOT", *_as_one(keys)))


def _all_of(parts: list[Keys]) -> Keys:
    parts = [part for part in dict.fromkeys(parts) if part != ALL]
    if NONE in parts:
        return NONE
    if len(parts) < 2:
        return parts[0] if parts else ALL
    return Keys(tuple(word for part in parts for word in part.words), is_one=False)


def any_of(parts: list[Keys]) -> Keys:
    parts = [part for part in dict.fromkeys(parts) if part != NONE]
    if ALL in parts:
        return ALL
    if not parts:
        return NONE
    found = parts[-1]
    for part in reversed(parts[:-1]):
        found = Keys((b"OR", *_as_one(part), *_as_one(found)))
    return found


def _as_one(keys: Keys) -> tuple[bytes, ...]:
    """In parentheses where needed; a literal cannot be followed by one, so a key that matches all comes between."""
    if keys.is_one:
        return keys.words
    words = keys.words if keys.words[-1].isascii() else (*keys.words, b"ALL")
    return (b"(" + words[0], *words[1:-1], words[-1] + b")")
