"""A query as SQL: the newest matches first, found without sorting, and their exact number."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from postroom.index.conditions import Condition, condition, joined
from postroom.index.folders import find_folder, folder_ids, list_folders
from postroom.index.matching import Names, conjunction, has_words, in_folder
from postroom.index.rows import ENVELOPE, envelope_of
from postroom.index.words import NOTHING
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Page
from postroom.model.query import And, In, Node, Not, Query

UNSEARCHED = (Role.TRASH, Role.JUNK)  # unless a query names a folder

_MATCH = "words MATCH ?"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a search begins, and what must hold. `total` is set where it is known without counting."""

    source: str
    order: str
    where: Condition
    total: int | None = None


def search(connection: sqlite3.Connection, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
    plan = _plan(connection, query)
    rows = connection.execute(
        f"SELECT {ENVELOPE} FROM {plan.source} WHERE {plan.where.sql} ORDER BY {plan.order} DESC LIMIT ? OFFSET ?",  # noqa: S608
        (*plan.where.values, limit, offset),
    ).fetchall()
    total = _total(connection, plan, len(rows), limit, offset)
    return Page(tuple(map(envelope_of, rows)), total, limit, offset, has_more=offset + len(rows) < total)


def _total(connection: sqlite3.Connection, plan: Plan, found: int, limit: int, offset: int) -> int:
    if plan.total is not None:
        return plan.total
    if found < limit and (found or not offset):
        return offset + found  # the page reached the end
    source = "words" if plan.where.sql == _MATCH else plan.source
    sql = f"SELECT count(*) FROM {source} WHERE {plan.where.sql}"  # noqa: S608
    return int(connection.execute(sql, plan.where.values).fetchone()[0])


def _plan(connection: sqlite3.Connection, query: Query) -> Plan:
    names = Names(connection, list_folders(connection), folder_ids(connection))
    hidden = [] if query.names_folder else _unsearched(names)
    nodes = _conjuncts(query.node)
    told = tuple(node for node in nodes if _is_told(node, names))
    if any(map(has_words, told)):
        return _words_plan(nodes, told, hidden, names)
    return _table_plan(nodes, hidden, names)


def _words_plan(nodes: tuple[Node, ...], told: tuple[Node, ...], hidden: list[int], names: Names) -> Plan:
    """The full text leads (CROSS keeps SQLite from guessing otherwise); the rest is looked up hit by hit."""
    match = conjunction(told, names) or NOTHING
    if hidden:
        match = f"({match}) NOT ({' OR '.join(map(in_folder, hidden))})"
    parts = [Condition(_MATCH, (match,))]
    parts += [condition(node, names) for node in nodes if node not in told]
    where = parts[0] if len(parts) == 1 else joined(parts, "AND", empty="1")
    return Plan("words CROSS JOIN mail ON mail.id = words.rowid", "words.rowid", where)


def _table_plan(nodes: tuple[Node, ...], hidden: list[int], names: Names) -> Plan:
    parts = [condition(node, names) for node in nodes]
    if hidden:
        parts.append(Condition(f"mail.folder NOT IN ({','.join(map(str, hidden))})"))
    return Plan("mail", "mail.id", joined(parts, "AND", empty="1"), _known_total(nodes, names.folders))


def _known_total(nodes: tuple[Node, ...], folders: list[Folder]) -> int | None:
    """A whole folder, or all that is searched, has been counted already."""
    match nodes:
        case ():
            return sum(folder.total or 0 for folder in folders if folder.role not in UNSEARCHED)
        case (In(folder=name),):
            return find_folder(folders, name).total
    return None


def _unsearched(names: Names) -> list[int]:
    return [names.numbers[folder.name] for folder in names.folders if folder.role in UNSEARCHED]


def _conjuncts(node: Node | None) -> tuple[Node, ...]:
    """What must all hold, nested Ands opened up."""
    if isinstance(node, And):
        return tuple(inner for child in node.nodes for inner in _conjuncts(child))
    return () if node is None else (node,)


def _is_told(node: Node, names: Names) -> bool:
    """Whether the full text can answer it, be it by taking away."""
    return conjunction((node.node if isinstance(node, Not) else node,), names) is not None
