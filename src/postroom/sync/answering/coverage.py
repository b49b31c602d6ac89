"""Which folders a query concerns, whether a mirror has all of them, and how long ago the server confirmed it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from postroom.index.folders import list_folders
from postroom.model.folder import Role, match_folder
from postroom.model.query.tree import And, In, Node, Query
from postroom.sqlite.database import remembered
from postroom.sync.file.status import STALE_AT, fact

_UNSEARCHED = (Role.TRASH, Role.JUNK)  # unless a query names a folder
_REMEMBERED = 1_000  # by the folders that queries name


@dataclass(frozen=True, slots=True)
class Coverage:
    """`is_known`: the mirror has a folder by that name at all. `is_whole`: each folder concerned is complete.
    `leaves_out`: some folder concerned is not mirrored. `as_of`: the least fresh of them; None: never confirmed.
    `is_stale`: something was changed through us since.

    Where the server refuses some of them, `refused_at` is when it last did, and `others` is the coverage of the rest;
    None where it refuses none, or all."""

    is_known: bool = False
    is_whole: bool = False
    leaves_out: bool = False
    as_of: datetime | None = None
    is_stale: bool = False
    refused_at: datetime | None = None
    others: Coverage | None = None


class _State(NamedTuple):
    ref: str
    is_filled: int
    as_of: float | None
    is_left_out: int
    refused_at: float | None

    @property
    def is_unknown(self) -> bool:
        """The server never let it be read: there is nothing of it."""
        return self.as_of is None and self.refused_at is not None


def coverage_of(connection: sqlite3.Connection, query: Query) -> Coverage:
    """Worked out once for all queries that concern the same folders."""
    named, everywhere = tuple(_folders_named(query.node)), query.anywhere or query.names_folder
    known = remembered(connection, _none_yet)
    if (named, everywhere) not in known:
        if len(known) >= _REMEMBERED:
            known.clear()
        wanted = _concerned(connection, named, everywhere=everywhere)
        known[named, everywhere] = Coverage() if wanted is None else coverage_of_folders(connection, wanted)
    return known[named, everywhere]


def _none_yet(_connection: sqlite3.Connection) -> dict[tuple[tuple[str, ...], bool], Coverage]:
    return {}


def folders_concerned(connection: sqlite3.Connection, query: Query) -> set[str] | None:
    """The refs of those that the query must look into; None where it names one that is not known. One that names a
    folder in any other place than beside its conditions (``-in:Sent``, ``in:a OR in:b``) concerns all of them."""
    everywhere = query.anywhere or query.names_folder
    return _concerned(connection, _folders_named(query.node), everywhere=everywhere)


def _concerned(connection: sqlite3.Connection, names: Iterable[str], *, everywhere: bool) -> set[str] | None:
    known = list_folders(connection)
    named = [match_folder(known, name) for name in names]
    if None in named:
        return None
    wanted = {folder.ref for folder in named if folder is not None}
    if wanted:
        return wanted
    hidden = () if everywhere else _UNSEARCHED
    return {folder.ref for folder in known if folder.role not in hidden}


def coverage_of_all(connection: sqlite3.Connection) -> Coverage:
    return coverage_of_folders(connection, {folder.ref for folder in list_folders(connection)})


def coverage_of_folders(connection: sqlite3.Connection, refs: Collection[str]) -> Coverage:
    states, stale_at = remembered(connection, _states)
    concerned = [state for state in states if state.ref in refs]
    coverage = _coverage(concerned, len(refs), stale_at)
    refusals = [state.refused_at for state in concerned if state.refused_at is not None]
    if not refusals:
        return coverage
    others = [state for state in concerned if state.refused_at is None]
    refused_at = datetime.fromtimestamp(min(refusals), UTC)
    is_known = any(not state.is_left_out for state in others)
    return replace(
        coverage, refused_at=refused_at, others=_coverage(others, len(others), stale_at) if is_known else None
    )


def _coverage(concerned: Sequence[_State], wanted: int, stale_at: float) -> Coverage:
    mirrored = [state for state in concerned if not state.is_left_out]
    begun = [state for state in mirrored if not state.is_unknown]
    as_of = _least([state.as_of for state in begun])
    return Coverage(
        is_known=bool(begun) and len(concerned) == wanted,
        is_whole=bool(mirrored) and all(state.is_filled for state in mirrored),
        leaves_out=len(mirrored) < len(concerned),
        as_of=None if as_of is None else datetime.fromtimestamp(as_of, UTC),
        is_stale=as_of is not None and as_of <= stale_at,
    )


def _states(connection: sqlite3.Connection) -> tuple[list[_State], float]:
    rows = connection.execute(
        "SELECT ref, is_filled, as_of, is_left_out, refused_at"
        " FROM folder JOIN mirrored_folder ON mirrored_folder.number = folder.id"
    )
    return [_State(*row) for row in rows], float(fact(connection, STALE_AT) or 0)


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
