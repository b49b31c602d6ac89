"""A server that says once that a message is gone, and has it: the mirror has it too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.contract.mails import mail
from tests.peers.graph.content import Content
from tests.unit.sync.cloud import Cloud, cloud_of
from tests.unit.sync.listed import Listed, Listing, Reporting, listed

pytestmark = pytest.mark.anyio


@pytest.fixture
async def gmail(tmp_path: Path) -> AsyncIterator[Cloud]:
    async with cloud_of("gmail", tmp_path) as cloud:
        yield cloud


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[Cloud]:
    async with cloud_of("graph", tmp_path) as cloud:
        yield cloud


def deliver(gmail: Cloud, key: str, *labels: str) -> Any:
    return gmail.side.peer.deliver(gmail.side.user, mail(key), set(labels))


async def whole(cloud: Cloud) -> bool:
    return cloud.rows() == await cloud.there() and cloud.mirror.status().complete


@pytest.mark.parametrize("labels", [("INBOX",), ()], ids=["inbox", "archive"])
async def test_of_gmail_while_it_is_filled(gmail: Cloud, labels: tuple[str, ...]) -> None:
    for number in range(4):
        deliver(gmail, f"m{number}", *labels)
    gmail.side.peer.fail_next("GET", "messages.get", status=404)
    await gmail.sync()
    assert await whole(gmail)


async def test_of_gmail_when_it_is_reported_as_new_or_changed(gmail: Cloud) -> None:
    first = deliver(gmail, "first", "INBOX")
    await gmail.sync()
    deliver(gmail, "second", "INBOX")
    gmail.side.user.change_labels(first, ["STARRED"])
    gmail.side.peer.fail_next("GET", "messages.get", status=404, times=2)
    await gmail.sync()
    assert await whole(gmail)


@pytest.mark.parametrize("times", [1, 2])
async def test_of_microsoft_when_it_is_reported_as_new_or_changed(graph: Cloud, times: int) -> None:
    first = graph.side.user.add(Content(mail("first")), "inbox")
    await graph.sync()
    graph.side.user.add(Content(mail("second")), "inbox")
    first.is_read = not first.is_read
    graph.side.user.touched(first)
    graph.side.peer.fail_next("GET", "messages.get", status=404, times=times)
    await graph.sync()
    assert await whole(graph)


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "changed"])
@pytest.mark.parametrize("times", [2, 4])
async def test_of_microsoft_however_often_it_is_asked_in_one_round(graph: Cloud, is_new: bool, times: int) -> None:
    kept = graph.side.user.add(Content(mail("kept")), "inbox")
    changed = None if is_new else graph.side.user.add(Content(mail("changed")), "inbox")
    await graph.sync()
    message = changed or graph.side.user.add(Content(mail("new")), "inbox")
    message.is_read = not message.is_read
    graph.side.user.touched(message)
    path = f"/v1.0/me/messages/{quote(message.immutable_id, safe='')}"
    graph.side.peer.fail_next("GET", path, status=404, times=times)
    await graph.sync()
    graph.side.peer.forget_faults()
    for _ in range(2):
        await graph.sync()
        assert await whole(graph)
    assert {kept.immutable_id, message.immutable_id} == graph.rows().keys()


@pytest.mark.parametrize("times", [2, 6])
async def test_of_microsoft_while_it_is_filled(graph: Cloud, times: int) -> None:
    messages = [graph.side.user.add(Content(mail(f"m{n}")), "inbox") for n in range(4)]
    path = f"/v1.0/me/messages/{quote(messages[2].immutable_id, safe='')}"
    graph.side.peer.fail_next("GET", path, status=404, times=times)
    await graph.sync()
    graph.side.peer.forget_faults()
    await graph.sync()
    assert await whole(graph)


async def test_of_microsoft_where_it_is_also_asked_again_for_what_was_deleted_before(graph: Cloud) -> None:
    first, second = ([graph.side.user.add(Content(mail(f"{n}.{m}")), "inbox") for m in range(12)] for n in range(2))
    kept = graph.side.user.add(Content(mail("kept")), "inbox")
    await graph.sync()
    for deleted in (first, second):
        for message in deleted:
            graph.side.delete(message)
        if deleted is second:
            kept.is_read = not kept.is_read
            graph.side.user.touched(kept)
            path = f"/v1.0/me/messages/{quote(kept.immutable_id, safe='')}"
            graph.side.peer.fail_next("GET", path, status=404, times=4)
        await graph.sync()
    graph.side.peer.forget_faults()
    await graph.sync()
    assert await whole(graph)
    assert graph.rows().keys() == {kept.immutable_id}


async def test_what_microsoft_has_deleted_is_asked_for_in_one_more_round_alone(graph: Cloud) -> None:
    messages = [graph.side.user.add(Content(mail(f"m{n}")), "inbox") for n in range(3)]
    await graph.sync()
    graph.side.delete(messages[1])
    asked: list[int] = []
    for _ in range(4):
        graph.side.peer.requests.clear()
        await graph.sync()
        assert await whole(graph)
        asked.append(sum(messages[1].immutable_id in str(one) for one in graph.side.peer.requests))
    assert asked[2:] == [0, 0], asked


@pytest.mark.parametrize("kind", [Reporting, Listing], ids=["told of changes", "by listings alone"])
@pytest.mark.parametrize("number", range(1, 5))
async def test_of_any_server_whenever_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, number: int
) -> None:
    it: Listed = listed(kind, tmp_path)
    envelopes, count = it.server.envelopes, [0]

    async def forgetful(refs: Sequence[str]) -> list[Any]:
        count[0] += 1
        return [None] * len(refs) if count[0] == number else await envelopes(refs)

    monkeypatch.setattr(it.server, "envelopes", forgetful)
    refs = it.add(4)
    await it.sync()
    it.put(refs[0], "Work")
    it.add(2, begin=4)
    it.now += 3600
    await it.sync()
    it.same()


async def test_one_that_is_gone_indeed_is_not_asked_for_for_ever(gmail: Cloud) -> None:
    kept, lost = deliver(gmail, "kept", "INBOX"), deliver(gmail, "lost", "INBOX")
    gmail.before = lambda verb: gmail.side.user.delete(lost) if verb == "search" and lost in gmail.side.user else None
    await gmail.sync()
    assert set(gmail.rows()) == {kept.id}
    assert await whole(gmail)


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "changed"])
async def test_a_server_that_says_so_for_a_while_is_asked_again_in_the_next_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    it = listed(Reporting, tmp_path)
    if is_new:
        await it.sync()
    refs = it.add(4)
    if not is_new:
        await it.sync()
        it.put(refs[0], "Work")
    envelopes = it.server.envelopes

    async def lagging(asked: Sequence[str]) -> list[Any]:
        return [None if row is not None and row.ref in refs[:2] else row for row in await envelopes(asked)]

    with monkeypatch.context() as for_now:
        for_now.setattr(it.server, "envelopes", lagging)
        await it.sync()
    await it.sync()
    it.same()
    before = it.contents.calls["envelopes"]
    await it.sync()
    assert it.contents.calls["envelopes"] == before


async def test_of_many_that_are_gone_a_few_are_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = listed(Reporting, tmp_path)
    await it.sync()
    refs = it.add(600)
    asked: list[str] = []
    envelopes = it.server.envelopes

    async def emptied(some: Sequence[str]) -> list[Any]:
        asked.extend(some)
        for ref in some:
            it.contents.mails.pop(ref, None)
        return await envelopes(some)

    monkeypatch.setattr(it.server, "envelopes", emptied)
    await it.sync()
    it.now += 60
    await it.sync()
    it.same()
    assert set(asked) == set(refs)
    assert len(asked) < 2 * len(refs)
    asked.clear()
    await it.sync()
    assert asked == []


@pytest.mark.parametrize("moment", ["filled", "added", "changed"])
@pytest.mark.parametrize("provider", ["gmail", "graph"])
async def test_of_a_service_that_says_so_of_very_many_for_a_while(provider: str, moment: str, tmp_path: Path) -> None:
    """One that lags behind does not know the newest messages at all."""
    async with cloud_of(provider, tmp_path) as cloud:
        deliver_at = {"gmail": _to_gmail, "graph": _to_graph}[provider]
        before = deliver_at(cloud, "before", 50)
        if moment != "filled":
            await cloud.sync()
        if moment == "changed":
            for message in before:
                _mark(cloud, message)
        elif moment == "added":
            deliver_at(cloud, "after", 50)
        cloud.side.peer.fail_next("GET", "messages.get", status=404, times=1_000_000)
        await cloud.sync()
        cloud.side.peer.forget_faults()
        await cloud.sync()
        assert await whole(cloud)


def _to_gmail(cloud: Cloud, key: str, count: int) -> list[Any]:
    return [deliver(cloud, f"{key}{number}", "INBOX") for number in range(count)]


def _to_graph(cloud: Cloud, key: str, count: int) -> list[Any]:
    return [cloud.side.user.add(Content(mail(f"{key}{number}")), "inbox") for number in range(count)]


def _mark(cloud: Cloud, message: Any) -> None:
    if hasattr(message, "labels"):
        cloud.side.user.change_labels(message, ["STARRED"])
    else:
        message.is_read = not message.is_read
        cloud.side.user.touched(message)
