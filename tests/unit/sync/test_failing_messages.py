"""A message over which the server fails whenever it is asked for it keeps no other out of the mirror, and is there with
what the server lists; while a server that fails altogether leaves nothing behind that would pass for whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.contract.mails import mail
from tests.peers.graph.content import Content
from tests.unit.sync.cloud import Cloud, cloud_of
from tests.unit.sync.listed import Listed, Listing, Reporting, listed

from postroom.model.errors import (
    InvalidRequest,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from postroom.model.query.tree import And, In, Node, Query, Text
from postroom.providers.layers.retry import Retry

pytestmark = pytest.mark.anyio
FAILURES = [ProviderUnavailable("It failed."), PermissionDenied("Not this one."), InvalidRequest("It is too large.")]


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


async def test_one_that_the_server_refuses_in_every_way_is_there_as_it_is_listed(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs, odd = it.add(8), ProviderError("It refused the request.")
    failing(it, monkeypatch, lambda ref, _: odd if ref in refs[3:5] else None)
    without_envelopes(it, monkeypatch, refs[4:5], odd)
    await it.sync()
    it.same()
    assert content_of(it) == {*refs} - {*refs[3:5]}


@pytest.mark.parametrize(("refused", "total"), [(1, 2), (60, 70), (45, 50)])
async def test_the_newest_messages_may_all_be_refused(
    it: Listed, monkeypatch: pytest.MonkeyPatch, refused: int, total: int
) -> None:
    refs = it.add(total)
    failing(it, monkeypatch, lambda ref, _: FAILURES[1] if ref in refs[-refused:] else None)
    await it.sync()
    it.same()
    assert content_of(it) == {*refs[:-refused]}
    assert it.mirror.status().bare == refused


async def test_a_server_that_refuses_every_message_is_not_mirrored(it: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    it.add(60)
    failing(it, monkeypatch, lambda ref, _: FAILURES[1])
    with pytest.raises(PermissionDenied):
        await it.sync()
    assert it.rows() == {}


async def test_a_search_for_words_is_not_complete_without_those_of_a_message(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.step, it.now = 0.0, it.now - 3600
    refs = it.add(3)
    it.put(refs[2], "Work")
    with monkeypatch.context() as for_now:
        failing(it, for_now, lambda ref, _: FAILURES[0] if ref == refs[1] else None)
        await it.sync()

    async def is_complete(node: Node) -> bool:
        return bool((await it.mailbox(max_age=7200.0).search(Query(node), limit=10, offset=0)).complete)

    assert await is_complete(In("INBOX"))
    assert await is_complete(And((In("Work"), Text("hello"))))
    assert not await is_complete(Text("hello"))
    assert not await is_complete(And((In("INBOX"), Text("hello"))))
    it.now += 3600
    await it.sync()
    assert await is_complete(Text("hello"))


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


def without_envelopes(it: Listed, monkeypatch: pytest.MonkeyPatch, refs: Sequence[str], error: PostroomError) -> None:
    envelopes = it.server.envelopes

    async def refusing(asked: Sequence[str]) -> Any:
        if not set(asked).isdisjoint(refs):
            raise error
        return await envelopes(asked)

    monkeypatch.setattr(it.server, "envelopes", refusing)


@pytest.mark.parametrize("error", FAILURES, ids=repr)
async def test_one_of_which_the_server_tells_nothing_keeps_no_other_change_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: PostroomError
) -> None:
    it = listed(Reporting, tmp_path)
    old = it.add(10)
    await it.sync()
    confirmed = it.mirror.status().as_of
    new = it.add(6, begin=10)
    it.put(old[2], "Work")
    it.put(old[3], "Work")
    with monkeypatch.context() as for_now:
        without_envelopes(it, for_now, [new[4], old[3]], error)
        for _ in range(2):
            with pytest.raises(type(error)):
                await it.sync()
            assert it.rows().keys() == {*old, *new} - {new[4]}
            assert it.rows()[old[2]].folder == "Work"
            assert it.mirror.status().as_of == confirmed
    await it.sync()
    it.same()


async def test_a_server_that_tells_of_no_message_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = listed(Reporting, tmp_path)
    old = it.add(10)
    await it.sync()
    new = it.add(50, begin=10)
    with monkeypatch.context() as for_now:
        without_envelopes(it, for_now, [*old, *new], FAILURES[0])
        before = it.contents.calls["changed_since"]
        with pytest.raises(ProviderUnavailable):
            await it.sync()
        assert it.contents.calls["changed_since"] == before + 1
    assert it.rows().keys() == {*old}
    await it.sync()
    it.same()


async def test_one_over_which_microsoft_fails_altogether_keeps_no_other_change_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("graph.session.client", "http.api"):
        monkeypatch.setattr(f"postroom.providers.{place}.Retry", partial(Retry, first_wait=0.0))
    async with cloud_of("graph", tmp_path) as graph:
        side = graph.side
        side.user.add(Content(mail("old")), "inbox")
        await graph.sync()
        failing = side.user.add(Content(mail("failing")), "inbox")
        side.user.add(Content(mail("later")), "inbox")
        path = f"/v1.0/me/messages/{quote(failing.immutable_id, safe='')}"
        side.peer.fail_next("GET", path, status=500, times=10_000)
        with pytest.raises(ProviderUnavailable):
            await graph.sync()
        assert {row.subject for row in graph.rows().values()} == {"Subject of old", "Subject of later"}
        side.peer.forget_faults()
        await graph.sync()
        assert graph.rows() == await graph.there()
        assert graph.mirror.status().complete


async def test_one_whose_text_microsoft_fails_over_is_there_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.providers.graph.session.client.Retry", partial(Retry, first_wait=0.0))
    async with cloud_of("graph", tmp_path) as graph:
        side = graph.side
        side.user.add(Content(mail("failing")), "inbox")
        await graph.sync()
        (failing,) = side.user.messages
        path = f"/v1.0/me/messages/{quote(failing.immutable_id, safe='')}"
        async with graph.mailbox() as mailbox:
            side.peer.fail_next("GET", path, status=500, times=3)  # so often it is asked for with its text
            (row,) = await mailbox.envelopes([failing.immutable_id])
        assert row is not None
        assert (row.subject, row.snippet) == ("Subject of failing", "")
