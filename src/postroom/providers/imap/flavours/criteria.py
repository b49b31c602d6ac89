"""A query in the words of SEARCH, as two bounds.

What a server cannot say exactly (an attachment, an hour of the day) is bracketed: `upper` finds every mail that may
match, `lower` only mails that surely do. Where both are equal the server's answer is the answer; otherwise only the
mails between the two need a look. Swapping the bounds is all that NOT takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from postroom.model.errors import InvalidRequest
from postroom.model.query.tree import (
    After,
    And,
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
    Not,
    Or,
    Smaller,
    Subject,
    Text,
)
from postroom.model.words import words
from postroom.providers.imap.flavours.keywords import keyword_of


@dataclass(frozen=True, slots=True)
class Keys:
    """Search keys, word by word. `is_one`: a single key that needs no parentheses behind OR and NOT."""

    words: tuple[bytes, ...]
    is_one: bool = True


ALL = Keys((b"ALL",))
NONE = Keys((b"NOT", b"ALL"))
TRUE, FALSE = And(()), Or(())  # nodes that hold for every mail and for none

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


@dataclass(frozen=True, slots=True)
class Bounds:
    upper: Keys
    lower: Keys

    @property
    def are_exact(self) -> bool:
        return self.upper == self.lower


Say = Callable[[Leaf], Bounds]


def within(node: Node, is_in: Callable[[str], bool]) -> Node:
    """The query inside one folder: every In is decided, and what it decides is gone."""
    if isinstance(node, In):
        return TRUE if is_in(node.folder) else FALSE
    if isinstance(node, Not):
        inner = within(node.node, is_in)
        if inner in (TRUE, FALSE):
            return FALSE if inner == TRUE else TRUE
        return Not(inner)
    if isinstance(node, And):
        kept = [child for child in (within(child, is_in) for child in node.nodes) if child != TRUE]
        return FALSE if FALSE in kept else _one_or(And, kept)
    if isinstance(node, Or):
        kept = [child for child in (within(child, is_in) for child in node.nodes) if child != FALSE]
        return TRUE if TRUE in kept else _one_or(Or, kept)
    return node


def _one_or(kind: type[And] | type[Or], nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else kind(tuple(nodes))


def bounds(node: Node, say: Say | None = None) -> Bounds:
    """`say` puts a single condition into the server's words; any server's, unless told."""
    if isinstance(node, Not):
        inner = bounds(node.node, say)
        return Bounds(_negated(inner.lower), _negated(inner.upper))
    if isinstance(node, (And, Or)):
        join = _all_of if isinstance(node, And) else any_of
        inner_bounds = [bounds(child, say) for child in node.nodes]
        return Bounds(join([b.upper for b in inner_bounds]), join([b.lower for b in inner_bounds]))
    return (say or said)(node)


def said(leaf: Leaf) -> Bounds:  # noqa: C901 - one arm per leaf of the language
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
            return Bounds(_dated(b"SENTSINCE", leaf.moment, -1), _dated(b"SENTSINCE", leaf.moment, 2))
        case Before():
            return Bounds(_dated(b"SENTBEFORE", leaf.moment, 2), _dated(b"SENTBEFORE", leaf.moment, -1))
        case HasAttachment():
            return _maybe_attached(b"$HasAttachment")
        case Filename():
            return _maybe_attached()
        case MessageId():
            return exact(Keys((b"HEADER", b"MESSAGE-ID", searchable(leaf.value))))
        case In():
            raise AssertionError("folders are decided before a server is asked")


def exact(keys: Keys) -> Bounds:
    return Bounds(keys, keys)


def _maybe_attached(surely: bytes | None = None) -> Bounds:
    """Servers that look into mails on arrival leave a keyword (registered with IANA); others leave it to us."""
    lower = Keys((b"KEYWORD", surely)) if surely else NONE
    return Bounds(Keys((b"NOT", b"KEYWORD", b"$HasNoAttachment")), lower)


def _anywhere(value: str) -> Keys:
    """Not TEXT: that looks into every header, and finds ``plain`` in each Content-Type."""
    if not words(value):
        return NONE
    return any_of([_holding(field, value) for field in (b"SUBJECT", b"FROM", b"TO", b"CC", b"BCC", b"BODY")])


def _holding(field: bytes, value: str) -> Keys:
    return Keys((field, searchable(value))) if words(value) else NONE


def _labelled(name: str) -> Keys:
    try:
        return Keys((b"KEYWORD", keyword_of(name).encode("ascii")))
    except InvalidRequest:
        return NONE  # a label the server could not keep is on no mail


def _dated(key: bytes, moment: datetime, days: int) -> Keys:
    """Servers compare bare days and ignore the zone a mail was written in: a day to spare on either side."""
    day = (moment.astimezone(UTC) + timedelta(days=days)).date()
    return Keys((key, f"{day.day}-{_MONTHS[day.month - 1]}-{day.year:04d}".encode()))


def searchable(value: str) -> bytes:
    """A quoted string, or bare bytes beyond ASCII that travel as a literal. Control characters match nothing."""
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
    """In parentheses where need be; a literal cannot be followed by one, so a key that holds for all comes between."""
    if keys.is_one:
        return keys.words
    words = keys.words if keys.words[-1].isascii() else (*keys.words, b"ALL")
    return (b"(" + words[0], *words[1:-1], words[-1] + b")")
