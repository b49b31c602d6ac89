from __future__ import annotations

import sqlite3
from collections.abc import Callable

from postroom.index import segments
from postroom.index.search import search
from postroom.index.segments import MERGED_AT_ONCE
from postroom.model.query.tree import Query, Text


def pieces(index: sqlite3.Connection) -> int:
    return int(index.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()[0])


def filled(index: sqlite3.Connection, add: Callable[..., str], count: int) -> list[str]:
    """A transaction each, as pieces come into being."""
    refs = []
    for number in range(count):
        refs.append(add(subject=f"word{number}x", body="an elephant"))
        index.execute("COMMIT")
        index.execute("BEGIN IMMEDIATE")
    return refs


def found(index: sqlite3.Connection, word: str) -> list[str]:
    return [row.ref for row in search(index, Query(Text(word)), limit=100, offset=0).items]


def test_new_files_merge_as_many_at_once_as_is_said_here(index: sqlite3.Connection) -> None:
    assert index.execute("SELECT v FROM words_config WHERE k = 'automerge'").fetchone() == (MERGED_AT_ONCE,)


def test_pieces_are_merged_as_they_come_unless_that_is_put_off(
    index: sqlite3.Connection, add: Callable[..., str]
) -> None:
    filled(index, add, 2 * MERGED_AT_ONCE)
    as_usual = pieces(index)
    segments.put_off(index)
    filled(index, add, 2 * MERGED_AT_ONCE)
    assert as_usual < 2 * MERGED_AT_ONCE <= pieces(index) - as_usual


def test_what_was_put_off_is_made_up_for_and_everything_is_found_all_the_time(
    index: sqlite3.Connection, add: Callable[..., str]
) -> None:
    segments.put_off(index)
    refs = filled(index, add, 3 * MERGED_AT_ONCE)
    while segments.merge_some(index):
        assert set(found(index, "elephant")) == set(refs)
    assert pieces(index) < MERGED_AT_ONCE
    assert found(index, "word7x") == [refs[7]]
    before = pieces(index)
    filled(index, add, 2 * MERGED_AT_ONCE)
    assert pieces(index) - before < MERGED_AT_ONCE  # merged as usual again


def test_there_is_nothing_to_do_where_nothing_was_put_off(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    filled(index, add, 3)
    before = pieces(index)
    assert not segments.merge_some(index)
    assert pieces(index) == before
