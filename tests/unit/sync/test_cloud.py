"""Mirrors of Gmail and of Microsoft 365, on a server that others use as well."""

from __future__ import annotations

from collections.abc import AsyncIterator
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
from postroom.sync.syncing import Tools

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
        if verb == "fetch_many":
            raise ProviderUnavailable("The server is away.")

    graph.before = cut
    with pytest.raises(ProviderUnavailable):
        await graph.sync()
    graph.before = lambda verb: None
    await graph.sync()
    assert found(graph, Text("elephant")) == []
    assert found(graph, Text("The text of As it was sent")) == ["As it was sent"]


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
