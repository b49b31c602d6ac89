"""Which folders a query concerns, whether a mirror has all of them, and how long ago the server confirmed it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from postroom.index.folders import list_folders
from postroom.model.folder import Role, match_folder
from postroom.model.query.tree import And, In, Node, Query
from postroom.sqlite.database import remembered
from postroom.sync.status import STALE_AT, fact

_UNSEARCHED = (Role.TRASH, Role.JUNK)  # unless a query names a folder


@dataclass(frozen=True, slots=True)
class Coverage:
    """`is_known`: the mirror has a folder by that name at all. `is_whole`: each folder concerned is complete.
    `leaves_out`: some folder concerned is not mirrored. `as_of`: the least fresh of them; None: never confirmed.
    `is_stale`: something was changed through us since."""

    is_known: bool = False
    is_whole: bool = False
    leaves_out: bool = False
    as_of: datetime | None = None
    is_stale: bool = False


def coverage_of(connection: sqlite3.Connection, query: Query) -> Coverage:
    wanted = folders_concerned(connection, query)
    return Coverage() if wanted is None else coverage_of_folders(connection, wanted)


def folders_concerned(connection: sqlite3.Connection, query: Query) -> set[str] | None:
    """The refs of those that the query must look into; None where it names one that is not known. One that names a
    folder in any other place than beside its conditions (``-in:Sent``, ``in:a OR in:b``) concerns all of them."""
    known = list_folders(connection)
    named = [match_folder(known, name) for name in _folders_named(query.node)]
    if None in named:
        return None
    wanted = {folder.ref for folder in named if folder is not None}
    if wanted:
        return wanted
    hidden = () if query.anywhere or query.names_folder else _UNSEARCHED
    return {folder.ref for folder in known if folder.role not in hidden}


def coverage_of_all(connection: sqlite3.Connection) -> Coverage:
    return coverage_of_folders(connection, {folder.ref for folder in list_folders(connection)})


def coverage_of_folders(connection: sqlite3.Connection, refs: Collection[str]) -> Coverage:
    states, stale_at = remembered(connection, _states)
    concerned = [(is_filled, as_of, left_out) for ref, is_filled, as_of, left_out in states if ref in refs]
    mirrored = [(is_filled, as_of) for is_filled, as_of, left_out in concerned if not left_out]
    as_of = _least([as_of for _, as_of in mirrored])
    return Coverage(
        is_known=bool(mirrored) and len(concerned) == len(refs),
        is_whole=bool(mirrored) and all(is_filled for is_filled, _ in mirrored),
        leaves_out=len(mirrored) < len(concerned),
        as_of=None if as_of is None else datetime.fromtimestamp(as_of, UTC),
        is_stale=as_of is not None and as_of <= stale_at,
    )


def _states(connection: sqlite3.Connection) -> tuple[list[tuple[str, int, float | None, int]], float]:
    states = connection.execute(
        "SELECT ref, is_filled, as_of, is_left_out"
        " FROM folder JOIN mirrored_folder ON mirrored_folder.number = folder.id"
    ).fetchall()
    return states, float(fact(connection, STALE_AT) or 0)


def _least(moments: Sequence[float | None]) -> float | None:
    known = [moment for moment in moments if moment is not None]
    return min(known) if known and len(known) == len(moments) else None


def _folders_named(node: Node | None) -> list[str]:
    """Those of which every match must be in one."""
    match node:
        case In(folder=name):
            return [name]
        case And(nodes=nodes):
            return [name for inner in nodes for name in _folders_named(inner)]
    return []
