"""A message over which the server fails whenever it is asked for it keeps no other out of the mirror, and is there with
what the server lists; while a server that fails altogether leaves nothing behind that would pass for whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.unit.sync.cloud import Cloud, cloud_of
from tests.unit.sync.listed import Listed, Listing, Reporting, listed

from postroom.model.errors import PermissionDenied, PostroomError, ProviderUnavailable, RateLimited
from postroom.model.query.tree import In, Query, Text
from postroom.providers.layers.retry import Retry

pytestmark = pytest.mark.anyio
FAILURES = [ProviderUnavailable("It failed."), PermissionDenied("Not this one.")]


@pytest.fixture(params=[Reporting, Listing], ids=["told of changes", "by listings alone"])
def it(request: pytest.FixtureRequest, tmp_path: Path) -> Listed:
    return listed(request.param, tmp_path)


@pytest.fixture
async def gmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cloud]:
    for place in ("gmail.session.client", "http.api"):  # nobody waits between two tries
        monkeypatch.setattr(f"postroom.providers.{place}.Retry", partial(Retry, first_wait=0.0))
    async with cloud_of("gmail", tmp_path) as cloud:
        yield cloud


def failing(it: Listed, monkeypatch: pytest.MonkeyPatch, fails: Callable[[str, int], PostroomError | None]) -> None:
    """`fails` gets the ref that is fetched and how many were before."""
    fetch, count = it.server.fetch, [0]

    async def refusing(ref: str) -> Any:
        count[0] += 1
        if (error := fails(ref, count[0] - 1)) is not None:
            raise error
        return await fetch(ref)

    monkeypatch.setattr(it.server, "fetch", refusing)


def content_of(it: Listed) -> set[str]:
    """The refs of those that can be read without the server."""
    with it.mirror.snapshot() as connection:
        return {ref for (ref,) in connection.execute("SELECT ref FROM mirrored JOIN content USING (id)")}


@pytest.mark.parametrize("error", FAILURES, ids=repr)
async def test_of_a_message_over_which_the_server_fails_there_is_what_it_lists(
    it: Listed, monkeypatch: pytest.MonkeyPatch, error: PostroomError
) -> None:
    refs = it.add(8)
    failing(it, monkeypatch, lambda ref, _: error if ref in refs[3:5] else None)
    await it.sync()
    it.same()
    assert content_of(it) == {*refs} - {*refs[3:5]}


async def test_one_that_is_the_only_new_message_keeps_no_change_back(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.add(3)
    await it.sync()
    (new,) = it.add(1, begin=5)
    failing(it, monkeypatch, lambda ref, _: FAILURES[0] if ref == new else None)
    it.now += 3600
    await it.sync()
    it.same()


async def test_one_that_can_be_read_again_is_read_when_it_changes(it: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    refs = it.add(3)
    with monkeypatch.context() as for_now:
        failing(it, for_now, lambda ref, _: FAILURES[0] if ref == refs[1] else None)
        await it.sync()
    it.put(refs[1], "Work")
    it.now += 3600
    await it.sync()
    it.same()
    assert content_of(it) == {*refs}


async def test_one_that_can_be_read_again_is_read_within_the_hour(it: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    refs = it.add(3)
    asked: list[str] = []

    def fails(ref: str, _: int) -> PostroomError | None:
        asked.append(ref)
        return FAILURES[0] if ref == refs[1] else None

    with monkeypatch.context() as for_now:
        failing(it, for_now, fails)
        await it.sync()
        asked.clear()
        await it.sync()
        assert asked == []
        it.now += 3600
        await it.sync()
        assert refs[1] in asked
    it.now += 3600
    await it.sync()
    it.same()
    assert content_of(it) == {*refs}


@pytest.mark.parametrize("from_where", [0, 1, 3, 5, 6], ids=lambda n: f"after {n} messages")
async def test_a_server_that_fails_from_some_moment_on_leaves_no_message_half_read(
    it: Listed, monkeypatch: pytest.MonkeyPatch, from_where: int
) -> None:
    refs = it.add(6)
    with monkeypatch.context() as for_now:
        failing(it, for_now, lambda ref, n: FAILURES[0] if n >= from_where or ref == refs[5] else None)
        with pytest.raises(ProviderUnavailable):
            await it.sync()
    assert not it.mirror.status().complete
    await it.sync()
    it.same()
    assert content_of(it) == {*refs}


async def test_a_server_that_asks_for_patience_is_not_taken_for_one_that_fails_over_a_message(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = it.add(3)
    failing(it, monkeypatch, lambda ref, _: RateLimited("Later.") if ref == refs[1] else None)
    with pytest.raises(RateLimited):
        await it.sync()


@pytest.mark.parametrize("damage", ["text", "headers"])
async def test_a_damaged_message_at_gmail_is_listed_with_the_others_and_read_once_it_can_be(
    gmail: Cloud, damage: Any
) -> None:
    messages = [gmail.side.peer.deliver(gmail.side.user, mail(f"m{n}"), {"INBOX"}) for n in range(4)]
    messages[1].damage = damage
    async with gmail.mailbox() as mailbox:
        page = await mailbox.search(Query(In("INBOX")), limit=10, offset=0)
    assert {row.ref for row in page.items} == {one.id for one in messages}
    await gmail.sync()
    assert gmail.mirror.status().complete
    assert gmail.rows() == await gmail.there()
    assert {row.ref for row in gmail.found(Text("hello"))} == {one.id for one in messages} - {messages[1].id}
    messages[1].damage = ""
    gmail.side.user.change_labels(messages[1], ["STARRED"])
    await gmail.sync()
    assert gmail.rows() == await gmail.there()
    assert {row.ref for row in gmail.found(Text("hello"))} == {one.id for one in messages}


async def test_a_gmail_that_fails_over_more_than_a_few_messages_is_away(gmail: Cloud) -> None:
    for number in range(10):
        gmail.side.peer.deliver(gmail.side.user, mail(f"m{number}"), {"INBOX"}).damage = "text"
    async with gmail.mailbox() as mailbox:
        with pytest.raises(ProviderUnavailable):
            await mailbox.search(Query(In("INBOX")), limit=10, offset=0)
