"""The login page of a network, or a proxy, in place of Gmail or Microsoft: they are out of reach, and the mirror
answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.peers.graph.content import Content
from tests.peers.web.messages import Answer
from tests.unit.sync.cloud import Cloud, cloud_of

from postroom.model.errors import PostroomError, ProviderUnavailable
from postroom.model.query.tree import Query, Text
from postroom.providers.layers.retry import Retry
from postroom.sync.answering.mirrored import MirrorLayer, mirrored

pytestmark = pytest.mark.anyio

PAGE = b"<!DOCTYPE html><title>Welcome</title><form>Log in to this network"
IN_BETWEEN = {
    "page": Answer(200, PAGE, {"content-type": "text/html"}),
    "page as data": Answer(200, PAGE, {"content-type": "application/json"}),
    "redirect": Answer(302, PAGE, {"location": "http://127.0.0.2:9/login", "content-type": "text/html"}),
    "half": Answer(200, b'{"value": [', {"content-type": "application/json"}),
}


@pytest.fixture(autouse=True)
def nobody_waits_between_two_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("gmail.session.client", "graph.session.client", "http.api"):
        monkeypatch.setattr(f"postroom.providers.{place}.Retry", partial(Retry, first_wait=0.0))


def deliver(cloud: Cloud, provider: str, key: str) -> None:
    if provider == "gmail":
        cloud.side.peer.deliver(cloud.side.user, mail(key), {"INBOX"})
    else:
        cloud.side.user.add(Content(mail(key)), "inbox")


def put_between(cloud: Cloud, answer: Answer) -> None:
    cloud.side.peer.respond = lambda _request, _recorded: answer


@pytest.mark.parametrize("what", IN_BETWEEN)
@pytest.mark.parametrize("provider", ["gmail", "graph"])
async def test_reading_goes_on(provider: str, what: str, tmp_path: Path) -> None:
    async with cloud_of(provider, tmp_path) as cloud:
        deliver(cloud, provider, "one")
        await cloud.sync()
        async with cloud.mailbox() as mailbox:
            layer = MirrorLayer(mailbox, cloud.mirror, cloud.side.settings, max_age=0.0)
            box: Any = mirrored(mailbox, layer, provider)
            put_between(cloud, IN_BETWEEN[what])
            (row,) = (await box.search(Query(), limit=5, offset=0)).items
            assert layer.outage.is_on
            assert (await box.fetch(row.ref)).body.text.strip()


@pytest.mark.parametrize("what", IN_BETWEEN)
@pytest.mark.parametrize("provider", ["gmail", "graph"])
async def test_several_messages_are_there_as_the_mirror_has_them(provider: str, what: str, tmp_path: Path) -> None:
    async with cloud_of(provider, tmp_path) as cloud:
        for key in ("one", "two"):
            deliver(cloud, provider, key)
        await cloud.sync()
        async with cloud.mailbox() as mailbox:
            box: Any = mirrored(mailbox, MirrorLayer(mailbox, cloud.mirror, cloud.side.settings, max_age=0.0), provider)
            await box.connect()
            put_between(cloud, IN_BETWEEN[what])
            refs = sorted(cloud.side.refs())
            assert [row.ref for row in await box.envelopes(refs)] == refs


@pytest.mark.parametrize("what", IN_BETWEEN)
async def test_none_of_the_messages_that_were_being_fetched_is_left_without_its_words(
    what: str, tmp_path: Path
) -> None:
    async with cloud_of("graph", tmp_path) as cloud:
        deliver(cloud, "graph", "old")
        await cloud.sync()
        for number in range(3):
            deliver(cloud, "graph", f"new{number}")
        respond, reached = cloud.side.peer.respond, list[str]()

        def before(verb: str) -> None:
            if verb == "fetch_many":
                reached.append(verb)
                put_between(cloud, IN_BETWEEN[what])

        cloud.before = before
        with pytest.raises(PostroomError):
            await cloud.sync()
        assert reached
        cloud.before, cloud.side.peer.respond = lambda _: None, respond
        await cloud.sync()
        assert len(cloud.found(Text("hello"))) == 4
        assert cloud.rows() == await cloud.there()


@pytest.mark.parametrize(("provider", "operation"), [("gmail", "labels.list"), ("graph", "folders.list")])
async def test_an_answer_without_a_list_of_folders_takes_none_of_them_away(
    provider: str, operation: str, tmp_path: Path
) -> None:
    async with cloud_of(provider, tmp_path) as cloud:
        if provider == "gmail":
            label = cloud.side.user.labels.create("Work").id
            cloud.side.peer.deliver(cloud.side.user, mail("one"), {label})
        else:
            cloud.side.user.add(Content(mail("one")), cloud.side.user.add_folder("Work", "").id)
        async with cloud.mailbox() as mailbox:
            await cloud.sync(mailbox=mailbox)
            cloud.side.peer.answer_next("GET", operation, '{"message": "Please log in."}', times=9)
            with pytest.raises(ProviderUnavailable, match="list"):
                await cloud.sync(mailbox=mailbox)
            cloud.side.peer.forget_faults()
        (row,) = cloud.rows().values()
        assert row.folder == "Work"
        assert cloud.rows() == await cloud.there()
