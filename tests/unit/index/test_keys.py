from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from postroom.index.keys import COUNTER_BITS, DATED, FreeKeys, first_key
from postroom.index.search import search
from postroom.model.query.tree import After, Before, Query

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def found(index: sqlite3.Connection, query: Query) -> list[str]:
    return [envelope.ref for envelope in search(index, query, limit=100, offset=0).items]


@pytest.mark.parametrize("year", [1, 1969, 1970, 2026, 9999])
def test_any_date_has_a_key_in_its_order(index: sqlite3.Connection, year: int) -> None:
    date = datetime(year, 6, 1, tzinfo=UTC)
    key = FreeKeys(index).next(date.timestamp())
    assert DATED < key < 1 << 62
    assert first_key(date) <= key < first_key(date + timedelta(seconds=1))


def test_mails_of_one_second_keep_the_order_they_came_in(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    refs = [add(date=NOON) for _ in range(5)]
    assert found(index, Query()) == refs[::-1]


def test_a_second_that_is_full_spills_into_the_next(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    add(date=NOON)
    last = first_key(NOON) + (1 << COUNTER_BITS) - 1
    index.execute("UPDATE mail SET id = ?", (last,))
    assert FreeKeys(index).next(NOON.timestamp()) == last + 1


@pytest.mark.parametrize("year", [1970, 2026])
def test_mails_that_are_written_together_have_keys_of_their_own(index: sqlite3.Connection, year: int) -> None:
    keys, moment = FreeKeys(index), datetime(year, 1, 1, tzinfo=UTC).timestamp()
    together = [keys.next(moment) for _ in range(3)] + [keys.next(None) for _ in range(2)]
    assert len(set(together)) == len(together)
    assert together[:3] == sorted(together[:3])


def test_the_newest_come_first_whatever_order_they_were_added_in(
    index: sqlite3.Connection, add: Callable[..., str]
) -> None:
    middle, oldest, newest = (add(date=NOON + timedelta(days=day)) for day in (2, 1, 3))
    assert found(index, Query()) == [newest, middle, oldest]


def test_a_mail_without_a_date_comes_last_and_is_neither_before_nor_after(
    index: sqlite3.Connection, add: Callable[..., str]
) -> None:
    undated = [add(date=None), add(date=None)]
    ancient = add(date=datetime(1, 1, 2, tzinfo=UTC))
    assert found(index, Query()) == [ancient, *undated[::-1]]
    assert found(index, Query(After(datetime(1, 1, 2, tzinfo=UTC)))) == [ancient]
    assert found(index, Query(Before(datetime(9999, 1, 1, tzinfo=UTC)))) == [ancient]


def test_dates_are_moments_whatever_their_offset(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    tokyo = timezone(timedelta(hours=9))
    early = add(date=datetime(2026, 3, 1, 12, tzinfo=tokyo))
    late = add(date=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert found(index, Query(After(datetime(2026, 3, 1, 4, tzinfo=UTC)))) == [late]
    assert found(index, Query(Before(datetime(2026, 3, 1, 4, tzinfo=UTC)))) == [early]


def test_after_includes_its_moment_and_before_does_not(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    at_noon = add(date=NOON)
    assert found(index, Query(After(NOON))) == [at_noon]
    assert found(index, Query(Before(NOON))) == []
    assert found(index, Query(After(NOON + timedelta(microseconds=1)))) == []
    assert found(index, Query(Before(NOON + timedelta(microseconds=1)))) == [at_noon]


@pytest.mark.parametrize("year", [1, 1969, 1970, 2026, 9999])
def test_a_second_that_is_looked_up_ahead_has_the_same_free_keys(
    index: sqlite3.Connection, add: Callable[..., str], year: int
) -> None:
    date = datetime(year, 6, 1, tzinfo=UTC)
    for _ in range(3):
        add(date=date)
    moments = [(date + timedelta(seconds=seconds)).timestamp() for seconds in (0, 0, 1)] + [None]
    ahead, one_by_one = FreeKeys(index, moments), FreeKeys(index)
    assert [ahead.next(moment) for moment in moments] == [one_by_one.next(moment) for moment in moments]


def test_a_full_second_that_is_looked_up_ahead_spills_too(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    add(date=NOON)
    last = first_key(NOON) + (1 << COUNTER_BITS) - 1
    index.execute("UPDATE mail SET id = ?", (last,))
    assert FreeKeys(index, [NOON.timestamp()]).next(NOON.timestamp()) == last + 1
