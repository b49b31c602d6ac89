"""A clock that is set while a mirror exists."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sync.listed import Listed, Listing, Reporting, listed

from postroom.model.query.tree import In, Query
from postroom.sync.tables import noting
from postroom.sync.tables.noting import changed, stale

pytestmark = pytest.mark.anyio

INBOX = Query(In("INBOX"))
DAYS = 10 * 86400.0


@pytest.fixture(params=[Reporting, Listing], ids=["reporting", "listing"])
def it(request: pytest.FixtureRequest, tmp_path: Path) -> Listed:
    made = listed(request.param, tmp_path)
    made.step = 1e-6  # not ahead of the true time, however quickly a run is done
    return made


def read(it: Listed) -> Any:
    """By a process that catches up by itself, with its clock right."""
    it.now = datetime.now(UTC).timestamp()
    return it.mailbox(catch_up=it.catch_up)


async def test_what_was_confirmed_before_the_clock_was_set_back_is_looked_at_anew(it: Listed) -> None:
    it.add(3)
    it.now += DAYS
    await it.sync()
    refs = it.add(2, begin=30)
    page = await read(it).search(INBOX, limit=10, offset=0)
    assert {row.ref for row in page.items} >= set(refs)


async def test_a_clock_that_was_set_back_does_not_keep_listings_from_being_compared(it: Listed) -> None:
    refs = it.add(60)
    it.now += DAYS
    await it.sync()
    it.now -= DAYS
    it.server._changed(refs[0], starred=True)  # one of the oldest: neither counts nor the newest messages show it
    await it.sync()
    it.same()


async def test_a_change_of_ours_before_the_clock_was_set_back_does_not_make_the_mirror_stale_for_days(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.add(3)
    await it.sync()
    now = datetime.now(UTC).timestamp()
    monkeypatch.setattr(noting.time, "time", lambda: now + DAYS)
    with it.mirror.transaction() as connection:
        changed(connection, stale)
    monkeypatch.undo()
    for _ in range(3):
        page = await read(it).search(INBOX, limit=10, offset=0)
    assert page.as_of is not None, "the mirror answered"


async def test_a_fill_looks_at_the_server_also_after_the_clock_was_set_back(tmp_path: Path) -> None:
    it = listed(Reporting, tmp_path)
    it.add(800)
    new: list[str] = []
    found: list[bool] = []

    def set_back() -> None:
        it.now -= DAYS

    it.meanwhile("search", 2, set_back)
    it.meanwhile("search", 3, lambda: new.extend(it.add(1, begin=900)))
    it.meanwhile("search", 5, lambda: found.append(new[0] in it.rows()))
    await it.sync()
    assert found == [True], "not only once everything is filled"
