"""A condition in KQL, the language of ``$search``: never more than one $search per request, and never with a $filter.

What KQL finds is whole words, and beginnings of words with a star. A condition is translated into one that finds at
least as much, and decided here afterwards; only words anywhere and names of files are left to the service.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta

from postroom.model.query.tree import (
    After,
    And,
    Before,
    Correspondent,
    Filename,
    HasAttachment,
    Larger,
    Node,
    Not,
    Or,
    Smaller,
    Subject,
    Text,
)
from postroom.model.words import words

# What only the service can decide: bodies and names of files are not read here.
ASKED = (Text, Filename)
# What is worth a search; dates and flags are filtered better.
_NARROWING = (*ASKED, Correspondent, Subject, Larger, Smaller)
_SIGNS = re.compile(r'[\x00-\x1f"\\*()<>:=]+')  # nothing that a value contains may become an operator
_DAY = timedelta(days=1)


def is_asked(node: Node) -> bool:
    """Whether the service alone decides the condition, and exactly."""
    if isinstance(node, And | Or):
        return bool(node.nodes) and all(is_asked(child) for child in node.nodes)
    return isinstance(node, ASKED)


def is_narrowed(node: Node) -> bool:
    """Whether a search would leave out most messages."""
    if isinstance(node, And):
        return any(is_narrowed(child) for child in node.nodes)
    if isinstance(node, Or):
        return bool(node.nodes) and all(is_narrowed(child) or finds_nothing(child) for child in node.nodes)
    return isinstance(node, _NARROWING) and bool(_leaf(node))


def finds_nothing(node: Node) -> bool:
    """A term without letters and digits is in no message."""
    if isinstance(node, And):
        return any(finds_nothing(child) for child in node.nodes)
    if isinstance(node, Or):
        return all(finds_nothing(child) for child in node.nodes)
    return isinstance(node, Text | Subject | Filename) and not words(node.value)


def wide(node: Node) -> str:
    """What finds at least the messages that fulfil the condition, and exactly those where it `is_asked`; empty where
    that would be all, or where it `finds_nothing`."""
    if isinstance(node, Not):
        return ""
    if isinstance(node, And | Or):
        parts = [wide(child) for child in node.nodes if not finds_nothing(child)]
        if isinstance(node, Or) and not all(parts):
            return ""
        parts = [part for part in parts if part]
        return f"({(' AND ' if isinstance(node, And) else ' OR ').join(parts)})" if len(parts) > 1 else "".join(parts)
    return _leaf(node)


def _leaf(leaf: Node) -> str:
    match leaf:
        case Text() if value := _phrase(leaf.value, prefix=leaf.prefix):
            return f"({value} OR participants:{value})"
        case Subject() | Correspondent() | Filename() if value := _phrase(leaf.value):
            return f"{_field(leaf)}:{value}"
        case HasAttachment():
            return "hasattachments:true"
        case Larger():
            return f"size>{leaf.size}"
        case Smaller():
            return f"size<{leaf.size}"
        case After():  # KQL counts in days, of a zone that is not ours
            return f"received>={(leaf.moment - _DAY).date().isoformat()}"
        case Before():
            return f"received<={(leaf.moment + _DAY).date().isoformat()}"
    return ""


def _field(leaf: Subject | Correspondent | Filename) -> str:
    if isinstance(leaf, Correspondent):
        return leaf.field
    return "subject" if isinstance(leaf, Subject) else "attachment"


def quoted(kql: str) -> str:
    """As the value of ``$search``."""
    return '"' + kql.replace("\\", "\\\\").replace('"', '\\"') + '"'


def asked_parts(node: Node) -> list[Node]:
    """The parts that the service must be asked about by themselves: those that not every candidate fulfils."""
    if is_asked(node):
        return [node]
    if isinstance(node, Not):
        return asked_parts(node.node)
    if isinstance(node, And | Or):
        return [part for child in node.nodes for part in asked_parts(child)]
    return []


def _phrase(value: str, *, prefix: bool = False) -> str:
    """Empty where nothing is left to search for."""
    plain = " ".join(_SIGNS.sub(" ", unicodedata.normalize("NFC", value)).split())
    if not words(plain):
        return ""
    return f'"{plain}*"' if prefix else f'"{plain}"'
