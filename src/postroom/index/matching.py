"""The part of a query that the full text can answer by itself, as an FTS5 expression."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from postroom.index.folders import find_folder
from postroom.index.people import COLUMNS, people_tokens
from postroom.index.words import NOTHING, phrase, token
from postroom.model.folder import Folder
from postroom.model.query import And, Correspondent, In, Node, Not, Or, Subject, Text


@dataclass(frozen=True, slots=True)
class Names:
    """What the names in a query stand for in this index."""

    connection: sqlite3.Connection
    folders: list[Folder]
    numbers: dict[str, int]  # of folders, by name
    _people: dict[str, list[str] | None] = field(default_factory=dict)

    def folder(self, wanted: str) -> int:
        return self.numbers[find_folder(self.folders, wanted).name]

    def people(self, wanted: str) -> list[str] | None:
        """Asked several times while a search is planned, looked up once."""
        if wanted not in self._people:
            self._people[wanted] = people_tokens(self.connection, wanted)
        return self._people[wanted]


def has_words(node: Node) -> bool:
    """Whether the full text narrows this down well: a folder alone is better looked up in the table."""
    if isinstance(node, And):
        return any(map(has_words, node.nodes))
    if isinstance(node, Or):
        return all(map(has_words, node.nodes))
    return isinstance(node, (Text, Subject, Correspondent))


def expression(node: Node, names: Names) -> str | None:
    """None where it takes more than words and folders. A Not alone is none: something must be there to take from."""
    match node:
        case Text():
            return phrase(node.value, prefix=node.prefix)
        case Subject():
            return phrase(node.value, column="subject")
        case Correspondent():
            return _correspondent(node, names)
        case In():
            return in_folder(names.folder(node.folder))
        case And():
            return conjunction(node.nodes, names)
        case Or():
            return _all_of(node.nodes, " OR ", names)
    return None


def conjunction(nodes: tuple[Node, ...], names: Names) -> str | None:
    """``(a AND b) NOT (c OR d)``"""
    wanted = tuple(node for node in nodes if not isinstance(node, Not))
    unwanted = tuple(node.node for node in nodes if isinstance(node, Not))
    positive = _all_of(wanted, " AND ", names)
    negative = _all_of(unwanted, " OR ", names)
    if not wanted or positive is None or negative is None:
        return None
    return f"({positive}) NOT ({negative})" if unwanted else positive


def place(folder: int) -> str:
    """The token that says in which folder a mail lies."""
    return token(f"f{folder}")


def in_folder(folder: int) -> str:
    return f'place : "{place(folder)}"'


def _correspondent(node: Correspondent, names: Names) -> str | None:
    people = names.people(node.value)
    if people is None:
        return None
    return f"{COLUMNS[node.field]} : ({' OR '.join(people)})" if people else NOTHING


def _all_of(nodes: tuple[Node, ...], joint: str, names: Names) -> str | None:
    if not nodes:
        return NOTHING
    parts = [expression(node, names) for node in nodes]
    return None if None in parts else joint.join(f"({part})" for part in parts)
