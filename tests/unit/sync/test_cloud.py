"""Mirrors of Gmail and of Microsoft 365, on a server that others use as well."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.peers.graph.content import Content
from tests.unit.sync.cloud import Cloud, cloud_of

from postroom.model.errors import ProviderUnavailable
from postroom.model.ids import Kind
from postroom.model.query.tree import Node, Text
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.following import by_listing
from postroom.sync.following.syncing import Tools

pytestmark = pytest.mark.anyio


@pytest.fixture
async def gmail(tmp_path: Path) -> AsyncIterator[Cloud]:
    async with cloud_of("gmail", tmp_path) as cloud:
        yield cloud


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[Cloud]:
    async with cloud_of("graph", tmp_path) as cloud:
        yield cloud


def found(cloud: Cloud, node: Node) -> list[str]:
    return [row.subject for row in cloud.found(node)]


@pytest.mark.parametrize("is_known", [True, False], ids=["reported", "compared"])
async def test_a_draft_that_was_changed_is_found_by_what_it_says_now(graph: Cloud, is_known: bool) -> None:
    draft = graph.side.user.add(Content(mail("draft", text="An elephant.")), "drafts", is_draft=True)
    await graph.sync()
    graph.side.edit(draft, "Another one")
    if not is_known:
        graph.side.peer.delta_tokens.forget()
    await graph.sync()
    assert found(graph, Text("elephant")) == []
    assert found(graph, Text("The text of Another one")) == ["Another one"]


@pytest.mark.parametrize("is_known", [True, False], ids=["reported", "compared"])
async def test_a_draft_that_was_changed_and_sent_is_read_as_it_was_sent(graph: Cloud, is_known: bool) -> None:
    draft = graph.side.user.add(Content(mail("draft", text="An elephant.")), "drafts", is_draft=True)
    await graph.sync()
    (ref,) = graph.rows()
    graph.side.edit(draft, "As it was sent")
    graph.side.send(draft)
    if not is_known:
        graph.side.peer.delta_tokens.forget()
    await graph.sync()
    assert list(graph.rows()) == [ref]
    assert graph.text_of(ref).strip() == "The text of As it was sent"
    assert graph.rows()[ref].folder == "Sent Items"


async def test_a_draft_that_could_not_be_fetched_again_is_fetched_the_next_time(graph: Cloud) -> None:
    draft = graph.side.user.add(Content(mail("draft", text="An elephant.")), "drafts", is_draft=True)
    await graph.sync()
    graph.side.edit(draft, "As it was sent")
    graph.side.send(draft)

    def cut(verb: str) -> None:
        if verb in ("fetch_many", "fetch"):
            raise ProviderUnavailable("The server is away.")

    graph.before = cut
    with pytest.raises(ProviderUnavailable):
        await graph.sync()
    graph.before = lambda verb: None
    await graph.sync()
    assert found(graph, Text("elephant")) == []
    assert found(graph, Text("The text of As it was sent")) == ["As it was sent"]


async def test_what_is_deleted_from_a_folder_that_was_made_as_the_pages_were_begun_goes(graph: Cloud) -> None:
    user, made, calls = graph.side.user, [], count(1)

    def meanwhile(verb: str) -> None:
        if verb == "folders" and next(calls) == 2:  # after the cursor was begun
            folder = user.add_folder("New")
            made.append(user.add(Content(mail("one")), folder.id))
        if verb == "folders" and made and graph.mirror.status().messages:
            user.remove(made.pop())

    graph.before = meanwhile
    await graph.sync()
    assert not made
    graph.before = lambda verb: None
    await graph.sync()
    assert graph.rows() == await graph.there() == {}


async def test_a_run_that_goes_on_with_changes_of_an_earlier_one_has_those_since_then_as_well(
    graph: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_listing, "_CHANGES", 1)
    await graph.sync()
    side, calls = graph.side, count(1)
    for place in ("archive", "sentitems"):  # one page of changes each
        side.user.add(Content(mail(place)), place)

    def cut(verb: str) -> None:
        if verb == "changed_since" and next(calls) == 2:
            raise ProviderUnavailable("The server is away.")

    graph.before = cut
    with pytest.raises(ProviderUnavailable):
        await graph.sync()
    side.user.add(Content(mail("since then")), "archive")
    await graph.sync()
    assert graph.rows() == await graph.there()


async def test_folders_whose_names_would_be_shown_alike_are_mirrored(graph: Cloud) -> None:
    for key, name in (("one", "a/b"), ("two", "a\u2215b")):
        folder = graph.side.user.add_folder(name)
        graph.side.peer.deliver(graph.side.user, mail(key), folder.id)
    await graph.sync()
    assert graph.rows() == await graph.there()
    assert len({row.folder for row in graph.rows().values()}) == 2


@pytest.mark.parametrize("damage", ["mime", "body"])
async def test_a_message_that_exchange_cannot_convert_does_not_keep_a_mirror_from_being_complete(
    graph: Cloud, damage: str
) -> None:
    first = graph.side.user.add(Content(mail("sealed", text="An elephant.")), "inbox")
    first.damage = damage
    graph.side.user.add(Content(mail("plain", text="A giraffe.")), "inbox")
    await graph.sync()
    later = graph.side.user.add(Content(mail("later", text="A zebra.")), "inbox")
    later.damage = damage
    await graph.sync()
    assert {row.subject for row in graph.rows().values()} == {
        f"Subject of {key}" for key in ("sealed", "plain", "later")
    }
    assert graph.mirror.status().complete
    assert found(graph, Text("giraffe")) == ["Subject of plain"]
    assert found(graph, Text("zebra")) == (["Subject of later"] if damage == "mime" else [])


@pytest.mark.parametrize("labels", [set(), {"INBOX"}], ids=["archived", "in the inbox"])
async def test_what_had_a_label_that_is_gone_stays_where_it_is_if_nobody_reports_it(
    gmail: Cloud, labels: set[str]
) -> None:
    label = gmail.side.user.labels.create("Old")
    gmail.side.peer.deliver(gmail.side.user, mail("one"), {label.id, *labels})
    await gmail.sync()
    gmail.side.user.labels.remove(label.id)
    for message in gmail.side.user.labelled(label.id):
        message.labels -= {label.id}
    await gmail.sync()
    assert gmail.rows() == await gmail.there()


async def test_filling_a_mirror_reads_each_message_of_gmail_once(gmail: Cloud) -> None:
    """Its text comes with the listing."""
    label = gmail.side.user.labels.create("Work")
    for number in range(60):
        gmail.side.peer.deliver(gmail.side.user, mail(f"m{number}"), {"INBOX", label.id} if number % 2 else set())
    await gmail.sync()
    read = [one.path for one in gmail.side.peer.requests if one.operation == "messages.get"]
    assert len(read) == len(set(read)) == 60
    gmail.side.peer.forget()
    gmail.side.peer.deliver(gmail.side.user, mail("new"), {"INBOX"})
    await gmail.sync()
    assert [one.operation for one in gmail.side.peer.requests].count("messages.get") == 1
    assert gmail.rows() == await gmail.there()


@pytest.mark.parametrize("provider", ["gmail", "graph"])
async def test_a_message_that_is_deleted_does_not_hand_its_handle_to_a_copy(provider: str, tmp_path: Path) -> None:
    async with cloud_of(provider, tmp_path) as it:
        place: set[str] | str = {"INBOX"} if provider == "gmail" else "inbox"
        for _ in range(2):
            it.side.peer.deliver(it.side.user, mail("twin"), place)
        handles = Handles(Database(tmp_path / "state.db"))
        await it.sync(Tools(handles))
        issued = dict(zip(it.rows(), handles.issue(Kind.EMAIL, "mine", list(it.rows())), strict=True))
        it.side.delete(next(iter(it.side.user)))
        await it.sync(Tools(handles))
        (left,) = it.rows()
        assert {ref: handles.resolve(handle, Kind.EMAIL).ref for ref, handle in issued.items()} == {
            ref: ref for ref in issued
        }
        assert handles.issue(Kind.EMAIL, "mine", [left]) == [issued[left]]
