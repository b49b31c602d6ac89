"""Any query node as an SQL condition, for what is not in the full text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from postroom.index.keys import DATED, first_key
from postroom.index.matching import Names, expression
from postroom.index.people import part_condition
from postroom.index.words import storable
from postroom.model.query.tree import (
    After,
    And,
    Before,
    Correspondent,
    Filename,
    In,
    Larger,
    Leaf,
    MessageId,
    Node,
    Not,
    Or,
    Smaller,
)
from postroom.model.words import folded


@dataclass(frozen=True, slots=True)
class Condition:
    """`needs_mail` is false if the key alone decides, so that counting need not read the table."""

    sql: str
    values: tuple[Any, ...] = ()
    needs_mail: bool = False


def condition(node: Node, names: Names, key: str) -> Condition:
    """`key` is the SQL expression for a message's key: a column of the table or of the full text."""
    match node:
        case Not():
            inner = condition(node.node, names, key)
            return Condition(f"NOT ({inner.sql})", inner.values, inner.needs_mail)
        case And():
            return joined([condition(child, names, key) for child in node.nodes], "AND")
        case Or():
            return joined([condition(child, names, key) for child in node.nodes], "OR")
    return _leaf(node, names, key)


def joined(parts: list[Condition], word: str) -> Condition:
    if not parts:
        return Condition("1" if word == "AND" else "0")
    sql = f" {word} ".join(f"({part.sql})" for part in parts) if len(parts) > 1 else parts[0].sql
    values = tuple(value for part in parts for value in part.values)
    return Condition(sql, values, any(part.needs_mail for part in parts))


def _leaf(node: Leaf, names: Names, key: str) -> Condition:
    match node:
        case After():
            return Condition(f"{key} >= ?", (first_key(node.moment),))
        case Before():
            return Condition(f"{key} >= ? AND {key} < ?", (DATED, first_key(node.moment)))
        case Larger():
            return Condition("mail.size > ?", (node.size,), needs_mail=True)
        case Smaller():
            return Condition("mail.size < ?", (node.size,), needs_mail=True)
        case MessageId():
            return Condition("mail.message_id = ?", (storable(node.value),), needs_mail=True)
        case Filename():
            wanted = folded(storable(node.value))
            return Condition(f"{key} IN (SELECT mail FROM attachment WHERE instr(name, ?))", (wanted,))  # noqa: S608
        case In():
            return _lies_in([names.folder(node.folder)], names, key)
    return _told(node, names, key)


def _lies_in(folders: Sequence[int], names: Names, key: str) -> Condition:
    """In any of these."""
    numbers = ",".join(map(str, folders))
    shown = f"mail.folder IN ({numbers})"
    if not names.shared.intersection(folders):
        return Condition(shown, needs_mail=True)
    further = f"{key} IN (SELECT mail FROM mail_folder WHERE folder IN ({numbers}))"  # noqa: S608
    return Condition(f"{shown} OR {further}", needs_mail=True)


def lies_in_none(folders: Sequence[int], names: Names, key: str) -> Condition:
    return Condition(f"NOT ({_lies_in(folders, names, key).sql})", needs_mail=True)


def _told(node: Leaf, names: Names, key: str) -> Condition:
    match = expression(node, names)
    if match is None and isinstance(node, Correspondent):
        sql, wanted = part_condition(node, key)
        return Condition(sql, (wanted,))
    return Condition(f"{key} IN (SELECT rowid FROM words WHERE words MATCH ?)", (match,))  # noqa: S608
