"""The conditions of a rule as a search, so that a provider returns as few messages as it can.

The search never decides: it finds at least every message that `judging` would accept. What a server compares
differently from the next one (accents, parts of words) is left out of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from postroom.model.folder import Folder, Role
from postroom.model.glob import marked
from postroom.model.query.tree import (
    After,
    Before,
    Correspondent,
    HasAttachment,
    In,
    Label,
    Larger,
    Node,
    Not,
    Or,
    Query,
    Smaller,
    Subject,
    Text,
)
from postroom.model.rule import Condition, Rule
from postroom.service.rules.judging import folders_named, row_of_words

_MARGIN = timedelta(hours=1)  # a clock that differs from the server's
_WILD = "\u16a0"  # a letter that nobody writes: with it, a word is not plain ASCII
NOT_LOOKED_AT = (Role.SENT, Role.DRAFTS)  # rules are about what came in, unless they name a folder


def search_for(rule: Rule, folders: Sequence[Folder], now: datetime) -> Query:
    """InvalidRequest where a condition names a folder that does not exist."""
    nodes = [node for condition in rule.conditions for node in _nodes(condition, folders, now)]
    if not names_folder(rule):
        nodes += [Not(In(folder.name)) for folder in folders if folder.role in NOT_LOOKED_AT]
    return Query().narrowed(*nodes)


def names_folder(rule: Rule) -> bool:
    return any(condition.field == "folder" and not condition.negated for condition in rule.conditions)


def _nodes(condition: Condition, folders: Sequence[Folder], now: datetime) -> Iterator[Node]:
    if condition.field == "folder":
        yield from _places(condition, folders)
    elif condition.field == "age_days":
        yield from _ages(condition, now)
    elif not condition.negated:
        alternatives = [_node(condition, value) for value in condition.values]
        known = [node for node in alternatives if node is not None]
        if known and len(known) == len(alternatives):
            yield known[0] if len(known) == 1 else Or(tuple(known))
    elif condition.field == "has_attachment":
        yield _attached(condition.values[0] != "true")


def _places(condition: Condition, folders: Sequence[Folder]) -> Iterator[Node]:
    found = [In(folder.name) for folder in folders_named(condition, folders)]
    if condition.negated:
        yield from (Not(place) for place in found)
    else:
        yield found[0] if len(found) == 1 else Or(tuple(found))


def _ages(condition: Condition, now: datetime) -> Iterator[Node]:
    days = float(condition.values[0])
    older = condition.operator == "greater_than" and not condition.negated
    older = older or (condition.operator == "less_than" and condition.negated)
    if condition.operator == "equals":
        if not condition.negated:
            yield Before(now - timedelta(days=days) + _MARGIN)
            yield After(now - timedelta(days=days + 1) - _MARGIN)
    elif older:
        yield Before(now - timedelta(days=days) + _MARGIN)
    else:
        yield After(now - timedelta(days=days) - _MARGIN)


def _node(condition: Condition, value: str) -> Node | None:
    match condition.field:
        case "from" | "to" | "cc":
            is_whole = condition.operator in ("equals", "in") and value.isascii()
            word = value if is_whole else _surest_word(condition, value)
            return Correspondent(condition.field, word) if word else None
        case "subject":
            word = _surest_word(condition, value)
            return Subject(word) if word else None
        case "body":
            word = _surest_word(condition, value)
            return Text(word) if word else None
        case "labels" if condition.operator != "matches":
            return Label(value)
        case "has_attachment":
            return _attached(value == "true")
        case "size" if condition.operator == "greater_than":
            return Larger(int(value))
        case "size" if condition.operator == "less_than":
            return Smaller(int(value))
    return None


def _attached(wanted: bool) -> Node:
    return HasAttachment() if wanted else Not(HasAttachment())


def _surest_word(condition: Condition, value: str) -> str:
    """The longest word that the text must have in it, whole. One that touches a wildcard may be part of a longer one.

    Letters with accents are left out: servers differ on them, and in HTML they may be written as entities.
    """
    text = marked(value, _WILD) if condition.operator == "matches" else value
    return max((word for word in row_of_words(text).split() if word.isascii()), key=len, default="")
