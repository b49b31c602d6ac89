"""A query as SQL: the newest matches first, found without sorting, and how many there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from postroom.index.conditions import Condition, condition, joined, lies_in_none
from postroom.index.folders import find_folder, numbered_folders
from postroom.index.matching import Names, conjunction, expression, has_state
from postroom.index.rows import ENVELOPE, envelopes, envelopes_of
from postroom.index.state import folder_token
from postroom.index.ties import Rank, put_right, share_a_second
from postroom.model.folder import Role
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import And, In, Node, Query, Subject, Text
from postroom.sqlite.database import remembered

COUNTED = 10_000  # matches; counting more would make a search the slower the larger the mailbox is
_REMEMBERED = 1_000  # searches
UNSEARCHED = (Role.TRASH, Role.JUNK)  # unless a query names a folder


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a search starts (`counted` is the part needed for counting), and what must match. `total` is set if it is
    known without counting."""

    source: str
    counted: str
    key: str
    where: Condition
    total: int | None = None


@dataclass(slots=True)
class _Search:
    """As long as nobody writes to the file, turning the pages of a search plans it and counts its matches only once,
    and goes on from where the last page ended: the match at `position` has that `key`."""

    plan: Plan
    matches: int | None = None
    position: int = 0
    key: int | None = None


def is_quick(query: Query, offset: int) -> bool:
    """Whether little more is read than the page: of a folder, or of the messages with one word, of which no more than
    `COUNTED` are counted. Other conditions may pass over any number of messages before a page is full."""
    if offset > COUNTED:
        return False
    match query.node:
        case In():
            return True
        case Text(value=value, prefix=False) | Subject(value=value):
            return _is_a_word(value)
    return False


def _is_a_word(value: str) -> bool:
    """One for the full text, for certain."""
    return value.isascii() and value.isalnum()


def search(
    connection: sqlite3.Connection,
    query: Query,
    *,
    limit: int,
    offset: int,
    rank: Rank | None = None,
    by_headers: bool = False,
) -> Page[Envelope]:
    """The total is None where more than `COUNTED` match. `rank` orders messages of one second; `by_headers` see
    `rows`."""
    known = _search_of(connection, query)
    plan = known.plan
    before = 1 if rank is not None and offset else 0
    rows = _rows(connection, known, before + limit + 1, offset - before)
    count = max(0, len(rows) - before)
    shown = envelopes_of(rows[before : before + limit], by_headers=by_headers)
    if rank is not None and share_a_second([row[-1] for row in rows]):
        found = [(row[-1], row[0]) for row in rows]
        refs = put_right(found, before, before + len(shown), partial(_around, connection, plan), rank)
        shown = _in_order(connection, shown, refs, by_headers=by_headers)
    total = _total(connection, known, count, limit, offset)
    return Page(tuple(shown), total, limit, offset, has_more=count > limit)


def newest(connection: sqlite3.Connection, query: Query, count: int, rank: Rank) -> tuple[list[str], int | None]:
    """Refs of the `count` newest matches, and how many match in all, if that was counted."""
    known = _search_of(connection, query)
    plan = known.plan
    rows = connection.execute(
        f"SELECT {plan.key}, mail.ref FROM {plan.source} WHERE {plan.where.sql} ORDER BY {plan.key} DESC LIMIT ?",  # noqa: S608
        (*plan.where.values, count + 1),
    ).fetchall()
    refs = put_right(rows, 0, min(count, len(rows)), partial(_around, connection, plan), rank)
    return refs, _total(connection, known, len(rows), count, 0)


def _around(connection: sqlite3.Connection, plan: Plan, lowest: int, end: int) -> list[tuple[int, str]]:
    """Nothing where there are more than are counted: they stay as they are."""
    rows = connection.execute(
        f"SELECT {plan.key}, mail.ref FROM {plan.source} WHERE ({plan.where.sql})"  # noqa: S608
        f" AND {plan.key} >= ? AND {plan.key} < ? ORDER BY {plan.key} DESC LIMIT {COUNTED + 1}",
        (*plan.where.values, lowest, end),
    ).fetchall()
    return rows if len(rows) <= COUNTED else []


def _in_order(
    connection: sqlite3.Connection, shown: list[Envelope], refs: Sequence[str], *, by_headers: bool
) -> list[Envelope]:
    by_ref = {envelope.ref: envelope for envelope in shown}
    missing = [ref for ref in refs if ref not in by_ref]
    by_ref |= {one.ref: one for one in envelopes(connection, missing, by_headers=by_headers) if one is not None}
    return [by_ref[ref] for ref in refs]


def _search_of(connection: sqlite3.Connection, query: Query) -> _Search:
    searches = remembered(connection, _no_searches)
    if query not in searches:
        if len(searches) >= _REMEMBERED:
            searches.clear()
        searches[query] = _Search(_plan(connection, query))
    return searches[query]


def _no_searches(_connection: sqlite3.Connection) -> dict[Query, _Search]:
    return {}


def _rows(connection: sqlite3.Connection, known: _Search, count: int, position: int) -> list[tuple[Any, ...]]:
    """As ENVELOPE and key, from the match at `position` downwards."""
    plan = known.plan
    first, skipped = _start(connection, known, position)
    where, values = f"({plan.where.sql})", plan.where.values
    if first is not None:
        where, values = f"{where} AND {plan.key} <= ?", (*values, first)
    rows = connection.execute(
        f"SELECT {ENVELOPE}, {plan.key} FROM {plan.source} WHERE {where} ORDER BY {plan.key} DESC LIMIT ? OFFSET ?",  # noqa: S608
        (*values, count, skipped),
    ).fetchall()
    if len(rows) > 1:  # pages overlap by one match
        known.position, known.key = position + len(rows) - 2, rows[-2][-1]
    return rows


def _start(connection: sqlite3.Connection, known: _Search, position: int) -> tuple[int | None, int]:
    """A key at or above that position, and how many matches lie between. None: the newest."""
    ahead = position - known.position
    if known.key is None or position < -ahead:  # nearer to the newest
        return None, position
    if ahead >= 0:
        return known.key, ahead
    plan = known.plan
    row = connection.execute(
        f"SELECT {plan.key} FROM {plan.source} WHERE ({plan.where.sql}) AND {plan.key} > ?"  # noqa: S608
        f" ORDER BY {plan.key} LIMIT 1 OFFSET ?",
        (*plan.where.values, known.key, -ahead - 1),
    ).fetchone()
    return row[0], 0


def _total(connection: sqlite3.Connection, known: _Search, found: int, limit: int, offset: int) -> int | None:
    plan = known.plan
    if plan.total is not None:
        return plan.total
    if found <= limit and (found or not offset):
        return offset + found  # the page reached the end
    if known.matches is None:
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {plan.counted} WHERE {plan.where.sql} LIMIT {COUNTED + 1})"  # noqa: S608
        known.matches = int(connection.execute(sql, plan.where.values).fetchone()[0])
    return known.matches if known.matches <= COUNTED else None


def _plan(connection: sqlite3.Connection, query: Query) -> Plan:
    names = Names(connection, *numbered_folders(connection))
    hidden = [] if query.names_folder else _unsearched(names)
    nodes = _conjuncts(query.node)
    told = tuple(node for node in nodes if expression(node, names) is not None)
    if all(isinstance(node, In) and names.folder(node.folder) not in names.shared for node in told):
        return _table_plan(nodes, hidden, names)  # for a folder alone the table is faster
    return _words_plan(nodes, told, hidden, names)


def _words_plan(nodes: tuple[Node, ...], told: tuple[Node, ...], hidden: list[int], names: Names) -> Plan:
    """The full text comes first (CROSS fixes that order for SQLite); the rest is looked up hit by hit."""
    match = conjunction(told, names)
    if hidden:
        match = f"({match}) NOT ({has_state(*map(folder_token, hidden))})"
    rest = [condition(node, names, "words.rowid") for node in nodes if node not in told]
    where = joined([Condition("words MATCH ?", (match,)), *rest], "AND")
    both = "words CROSS JOIN mail ON mail.id = words.rowid"
    return Plan(both, both if where.needs_mail else "words", "words.rowid", where)


def _table_plan(nodes: tuple[Node, ...], hidden: list[int], names: Names) -> Plan:
    parts = [condition(node, names, "mail.id") for node in nodes]
    if hidden:
        parts.append(lies_in_none(hidden, names, "mail.id"))
    return Plan("mail", "mail", "mail.id", joined(parts, "AND"), _known_total(nodes, hidden, names))


def _known_total(nodes: tuple[Node, ...], hidden: list[int], names: Names) -> int | None:
    """A whole folder, or everything that is searched, is already counted."""
    match nodes:
        case () if not names.shared:
            return sum(folder.total or 0 for folder in names.folders if names.numbers[folder.name] not in hidden)
        case (In(folder=name),):
            return find_folder(names.folders, name).total
    return None


def _unsearched(names: Names) -> list[int]:
    """An empty folder excludes nothing: searching it would only cost time."""
    return [names.numbers[folder.name] for folder in names.folders if folder.role in UNSEARCHED and folder.total]


def _conjuncts(node: Node | None) -> tuple[Node, ...]:
    """The conditions that must all match, with nested Ands flattened."""
    if isinstance(node, And):
        return tuple(inner for child in node.nodes for inner in _conjuncts(child))
    return () if node is None else (node,)
