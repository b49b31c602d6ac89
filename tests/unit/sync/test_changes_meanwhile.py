"""What is changed through Postroom while a run writes what the server said before that: the mirror does not pass the
older state off as the server's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sync.listed import Listed, Listing, Reporting, listed

from postroom.model.errors import RateLimited
from postroom.sync.answering.coverage import coverage_of_all
from postroom.sync.tables import noting

pytestmark = pytest.mark.anyio

OLD = 60  # messages that are newer than those that every look shows


@pytest.fixture(params=[Reporting, Listing], ids=["told of changes", "by listings alone"])
def it(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Listed:
    found = listed(request.param, tmp_path)
    monkeypatch.setattr(found, "_tick", time.time)
    return found


def starring(it: Listed, ref: str) -> Callable[[], None]:
    def star() -> None:
        envelope, raw = it.contents.mails[ref]
        it.contents.mails[ref] = (replace(envelope, starred=True), raw)
        it.contents.log.append(ref)
        with it.mirror.transaction() as connection:
            noting.changed(connection, noting.flags, [ref], ["starred"])

    return star


async def test_a_message_that_had_just_been_fetched(it: Listed) -> None:
    refs = it.add(OLD + 4)
    it.meanwhile("fetch", len(refs), starring(it, refs[1]))  # as the oldest one is fetched
    await it.sync()
    it.same()
    assert it.rows()[refs[1]].starred


async def test_a_message_of_which_the_server_had_just_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = listed(Reporting, tmp_path)
    monkeypatch.setattr(it, "_tick", time.time)
    (ref,) = it.add(1)
    await it.sync()
    it.put(ref, "Work")
    it.add(1, begin=1)
    envelopes = it.server.envelopes

    async def then_starred(refs: Sequence[str]) -> list[Any]:
        found = await envelopes(refs)
        starring(it, ref)()
        return found

    async def refused(_: str) -> Any:
        raise RateLimited("Later.")

    with monkeypatch.context() as for_now:
        for_now.setattr(it.server, "envelopes", then_starred)
        for_now.setattr(it.server, "fetch", refused)
        with pytest.raises(RateLimited):
            await it.sync()
    with it.mirror.snapshot() as connection:
        assert coverage_of_all(connection).is_stale
    await it.sync()
    it.same()
