"""Messages that Exchange itself cannot convert: one keeps nobody from the others, nor from what is left of it."""

from __future__ import annotations

import pytest
from tests.contract.mails import mail
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.stored import StoredMessage

from postroom.model.errors import ProviderError
from postroom.model.query.tree import In, Query
from postroom.providers.graph.provider import GraphMailbox


@pytest.fixture
def damaged(graph: FakeGraph, alice: Mailbox) -> StoredMessage:
    graph.deliver(alice, mail("before", days_ago=3))
    stored = graph.deliver(alice, mail("damaged", text="Signed and sealed.", days_ago=2))
    graph.deliver(alice, mail("after", days_ago=1))
    return stored


@pytest.mark.parametrize("damage", ["mime", "body"])
async def test_a_page_with_a_message_that_cannot_be_converted_is_listed(
    damaged: StoredMessage, mailbox: GraphMailbox, damage: str
) -> None:
    damaged.damage = damage  # type: ignore[assignment]
    page = await mailbox.search(Query(In("inbox")), limit=10, offset=0)
    assert [row.subject for row in page.items] == ["Subject of after", "Subject of damaged", "Subject of before"]


@pytest.mark.parametrize("damage", ["mime", "body"])
async def test_what_a_list_shows_of_a_message_that_cannot_be_converted_is_there(
    damaged: StoredMessage, mailbox: GraphMailbox, damage: str
) -> None:
    damaged.damage = damage  # type: ignore[assignment]
    (row,) = await mailbox.envelopes([damaged.immutable_id])
    assert row is not None
    assert (row.subject, row.unread) == ("Subject of damaged", True)


async def test_a_message_without_mime_is_read_as_its_properties_say(
    graph: FakeGraph, alice: Mailbox, damaged: StoredMessage, mailbox: GraphMailbox
) -> None:
    damaged.damage = "mime"
    refs = [one.immutable_id for one in alice.messages]
    assert (await mailbox.fetch(damaged.immutable_id)).body.text.strip() == "Signed and sealed."
    found = await mailbox.fetch_many(refs)
    assert [one and one.body.text.strip() for one in found] == ["Hello.", "Signed and sealed.", "Hello."]


@pytest.mark.parametrize("verb", ["fetch", "fetch_raw"])
async def test_whoever_opens_a_message_that_cannot_be_converted_is_told_to_use_another_program(
    graph: FakeGraph, damaged: StoredMessage, mailbox: GraphMailbox, verb: str
) -> None:
    damaged.damage = "body"
    await mailbox.connect()
    graph.forget()
    with pytest.raises(ProviderError, match="Outlook") as raised:
        await getattr(mailbox, verb)(damaged.immutable_id)
    assert not raised.value.retryable
    assert len(graph.requests) == 1
