"""Any query node as a condition on a row of `mail`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroom.index.keys import DATED, first_key
from postroom.index.labels import label_key
from postroom.index.matching import Names, expression
from postroom.index.people import part_condition
from postroom.index.words import NOTHING, storable
from postroom.model.query import (
    After,
    And,
    Before,
    Correspondent,
    Filename,
    Flag,
    HasAttachment,
    In,
    Is,
    Label,
    Larger,
    Leaf,
    Node,
    Not,
    Or,
    Smaller,
)
from postroom.model.words import folded

_FLAGS: dict[Flag, str] = {
    "unread": "mail.unread",
    "read": "NOT mail.unread",
    "starred": "mail.starred",
    "unstarred": "NOT mail.starred",
    "draft": "mail.draft",
    "answered": "mail.answered",
}


@dataclass(frozen=True, slots=True)
class Condition:
    sql: str
    values: tuple[Any, ...] = ()


def condition(node: Node, names: Names) -> Condition:
    match node:
        case Not():
            inner = condition(node.node, names)
            return Condition(f"NOT ({inner.sql})", inner.values)
        case And():
            return joined([condition(child, names) for child in node.nodes], "AND", empty="1")
        case Or():
            return joined([condition(child, names) for child in node.nodes], "OR", empty="0")
    return _leaf(node, names)


def joined(parts: list[Condition], word: str, *, empty: str) -> Condition:
    if not parts:
        return Condition(empty)
    return Condition(
        f" {word} ".join(f"({part.sql})" for part in parts), tuple(v for part in parts for v in part.values)
    )


def _leaf(node: Leaf, names: Names) -> Condition:
    match node:
        case HasAttachment():
            return Condition("mail.has_attachments")
        case Is():
            return Condition(_FLAGS[node.flag])
        case In():
            return Condition("mail.folder = ?", (names.folder(node.folder),))
        case Label():
            return Condition(
                "EXISTS (SELECT 1 FROM mail_label WHERE mail_label.mail = mail.id"
                " AND mail_label.label = (SELECT id FROM label WHERE folded = ?))",
                (label_key(node.name),),
            )
        case After():
            return Condition("mail.id >= ?", (first_key(node.moment),))
        case Before():
            return Condition("mail.id >= ? AND mail.id < ?", (DATED, first_key(node.moment)))
        case Larger():
            return Condition("mail.size > ?", (node.size,))
        case Smaller():
            return Condition("mail.size < ?", (node.size,))
        case Filename():
            return Condition(
                "mail.id IN (SELECT mail FROM attachment WHERE instr(name, ?))", (folded(storable(node.value)),)
            )
    return _words(node, names)


def _words(node: Leaf, names: Names) -> Condition:
    match = expression(node, names)
    if match is None and isinstance(node, Correspondent):
        sql, value = part_condition(node)
        return Condition(sql, (value,))
    return Condition("mail.id IN (SELECT rowid FROM words WHERE words MATCH ?)", (match or NOTHING,))
