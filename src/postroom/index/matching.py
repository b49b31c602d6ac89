"""A query as one FTS5 expression over words and state: what the full text alone can decide."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from postroom.index import state
from postroom.index.folders import find_folder
from postroom.index.labels import FORWARDED, label_id
from postroom.index.people import COLUMNS, people_tokens
from postroom.index.words import normal, phrase
from postroom.model.folder import Folder
from postroom.model.query.tree import (
    And,
    Correspondent,
    HasAttachment,
    In,
    Is,
    Label,
    Leaf,
    Node,
    Not,
    Or,
    Subject,
    Text,
)

NOTHING = 'state : "\ue0ff"'  # no message has this token


@dataclass(frozen=True, slots=True)
class Names:
    """What the names in a query refer to in this index."""

    connection: sqlite3.Connection
    folders: list[Folder]
    numbers: Mapping[str, int]  # of folders, by name
    shared: frozenset[int] = frozenset()  # folders with messages that are shown in another one
    _people: dict[str, list[str] | None] = field(default_factory=dict)

    def folder(self, wanted: str) -> int:
        return self.numbers[find_folder(self.folders, wanted).name]

    def people(self, wanted: str) -> list[str] | None:
        """Needed several times while a search is planned, looked up once."""
        if wanted not in self._people:
            self._people[wanted] = people_tokens(self.connection, wanted)
        return self._people[wanted]


def expression(node: Node, names: Names) -> str | None:
    """None if some part of it (a date, a size, a file's name) is not in the full text."""
    match node:
        case Not():
            return conjunction((node,), names)
        case And():
            return conjunction(node.nodes, names)
        case Or():
            return _each_of(node.nodes, " OR ", names) if node.nodes else NOTHING
    return _leaf(node, names)


def conjunction(nodes: tuple[Node, ...], names: Names) -> str | None:
    """``(a AND b) NOT (c OR d)``; without positive terms, every message is the base."""
    wanted = tuple(node for node in nodes if not isinstance(node, Not))
    unwanted = tuple(node.node for node in nodes if isinstance(node, Not))
    positive = _each_of(wanted, " AND ", names) if wanted else has_state(state.ANY)
    negative = _each_of(unwanted, " OR ", names) if unwanted else ""
    if positive is None or negative is None:
        return None
    return f"({positive}) NOT ({negative})" if negative else positive


def has_state(*tokens: str) -> str:
    return " OR ".join(f'state : "{token}"' for token in tokens)


def _each_of(nodes: tuple[Node, ...], joint: str, names: Names) -> str | None:
    parts = [expression(node, names) for node in nodes]
    return None if None in parts else joint.join(f"({part})" for part in parts)


def _leaf(node: Leaf, names: Names) -> str | None:
    match node:
        case Text():
            words = phrase(node.value)
            return (f"{words} *" if node.prefix else words) if words else NOTHING
        case Subject():
            words = state.marked(normal(node.value))
            return f'"{words}"' if words else NOTHING
        case Correspondent():
            return _correspondent(node, names)
        case In():
            return has_state(state.folder_token(names.folder(node.folder)))
        case Is():
            return _is(node, names)
        case HasAttachment():
            return has_state(state.HAS_ATTACHMENT)
        case Label():
            return _labelled(node.name, names)
    return None


def _labelled(label: str, names: Names) -> str:
    number = label_id(names.connection, label)
    return NOTHING if number is None else has_state(state.label_token(number))


def _is(node: Is, names: Names) -> str:
    if node.flag == "forwarded":
        return _labelled(FORWARDED, names)
    column, value = state.CLAIMS[node.flag]
    token = has_state(state.FLAGS[column])
    return token if value else f"({has_state(state.ANY)}) NOT ({token})"


def _correspondent(node: Correspondent, names: Names) -> str | None:
    people = names.people(node.value)
    if people is None:
        return None
    return f"{COLUMNS[node.field]} : ({' OR '.join(people)})" if people else NOTHING
