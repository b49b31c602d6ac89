"""msgraph-sdk against the fake: what Postroom uses of Graph, seen by Microsoft's own code.

The first test takes seconds: to read one message, the client imports 1,200 modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.peers.gmail.caller import written
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.official import official_client

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the client, within itself
BOB = "bob@contoso.example"


@pytest.fixture(scope="module")
def service() -> Iterator[FakeGraph]:
    with FakeGraph.started() as graph:
        yield graph


@pytest.fixture
def graph(service: FakeGraph) -> FakeGraph:
    service.users.clear()
    service.sent.clear()
    service.forget()
    return service


@pytest.fixture
def alice(graph: FakeGraph) -> Mailbox:
    return graph.user("alice@contoso.example", "Alice Ample")


@pytest.fixture
def client(graph: FakeGraph, alice: Mailbox) -> Any:
    return official_client(graph, graph.token(alice))


def mail(subject: str, **headers: str) -> bytes:
    return written(
        "A few words.", From="Carol <carol@x.example>", To="alice@contoso.example", Subject=subject, **headers
    )


def message_to(address: str, subject: str) -> Any:
    from msgraph.generated.models.body_type import BodyType
    from msgraph.generated.models.email_address import EmailAddress
    from msgraph.generated.models.item_body import ItemBody
    from msgraph.generated.models.message import Message
    from msgraph.generated.models.recipient import Recipient

    to = [Recipient(email_address=EmailAddress(address=address))]
    return Message(subject=subject, to_recipients=to, body=ItemBody(content_type=BodyType.Text, content="Hello"))


async def test_messages_are_listed_page_by_page_searched_and_read(
    graph: FakeGraph, alice: Mailbox, client: Any
) -> None:
    from kiota_abstractions.base_request_configuration import RequestConfiguration
    from msgraph.generated.users.item.messages.messages_request_builder import MessagesRequestBuilder

    for number in range(3):
        graph.deliver(alice, mail(f"Größe {number}"), when=1_700_000_000 + number)
    asked = MessagesRequestBuilder.MessagesRequestBuilderGetQueryParameters
    page = await client.me.messages.get(
        RequestConfiguration(query_parameters=asked(top=2, orderby=["receivedDateTime desc"], select=["subject"]))
    )
    assert [each.subject for each in page.value] == ["Größe 2", "Größe 1"]
    rest = await client.me.messages.with_url(page.odata_next_link).get()
    assert [each.subject for each in rest.value] == ["Größe 0"]
    found = await client.me.messages.get(RequestConfiguration(query_parameters=asked(search='"subject:größe AND 1"')))
    (one,) = found.value
    assert (one.from_.email_address.address, one.is_read, one.received_date_time.year) == (
        "carol@x.example",
        False,
        2023,
    )
    raw = await client.me.messages.by_message_id(one.id).content.get()
    assert raw == alice.message(one.id).raw


async def test_a_draft_is_made_changed_completed_with_a_file_and_sent(
    graph: FakeGraph, alice: Mailbox, client: Any
) -> None:
    from msgraph.generated.models.file_attachment import FileAttachment
    from msgraph.generated.models.message import Message

    bob = graph.user(BOB)
    draft = await client.me.messages.post(message_to(BOB, "Plan"))
    place = client.me.messages.by_message_id(draft.id)
    assert draft.is_draft
    await place.patch(Message(subject="New plan"))
    file = FileAttachment(odata_type="#microsoft.graph.fileAttachment", name="a.txt", content_bytes=b"hello")
    made = await place.attachments.post(file)
    assert made.content_bytes == b"hello"
    await place.send.post()
    (arrived,) = bob.within("inbox")
    assert (arrived.subject, [each.content for each in arrived.content.files]) == ("New plan", [b"hello"])


async def test_mail_is_sent_answered_and_forwarded_at_once(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.email_address import EmailAddress
    from msgraph.generated.models.recipient import Recipient
    from msgraph.generated.users.item.messages.item.forward.forward_post_request_body import ForwardPostRequestBody
    from msgraph.generated.users.item.messages.item.reply.reply_post_request_body import ReplyPostRequestBody
    from msgraph.generated.users.item.send_mail.send_mail_post_request_body import SendMailPostRequestBody

    bob = graph.user(BOB)
    await client.me.send_mail.post(SendMailPostRequestBody(message=message_to(BOB, "Hi"), save_to_sent_items=True))
    stored = graph.deliver(alice, written("Well?", From=BOB, To=alice.address, Subject="Question"))
    place = client.me.messages.by_message_id(stored.immutable_id)
    await place.reply.post(ReplyPostRequestBody(comment="Yes"))
    to = [Recipient(email_address=EmailAddress(address=BOB))]
    await place.forward.post(ForwardPostRequestBody(comment="See", to_recipients=to))
    assert {each.subject for each in bob.within("inbox")} == {"Hi", "RE: Question", "FW: Question"}
    assert len(alice.within("sentitems")) == 3


async def test_messages_are_moved_folders_made_and_another_mailbox_opened(
    graph: FakeGraph, alice: Mailbox, client: Any
) -> None:
    from msgraph.generated.models.mail_folder import MailFolder
    from msgraph.generated.users.item.messages.item.move.move_post_request_body import MovePostRequestBody

    stored = graph.deliver(alice, mail("one"))
    folder = await client.me.mail_folders.post(MailFolder(display_name="Projects"))
    before = stored.entry_id
    moved = await client.me.messages.by_message_id(before).move.post(MovePostRequestBody(destination_id=folder.id))
    assert (moved.parent_folder_id, moved.id != before) == (folder.id, True)
    inside = await client.users.by_user_id(alice.address).mail_folders.by_mail_folder_id(folder.id).messages.get()
    assert [each.id for each in inside.value] == [moved.id]


async def test_a_delta_is_followed_and_a_refusal_has_a_code(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.o_data_errors.o_data_error import ODataError

    stored = graph.deliver(alice, mail("one"))
    delta = client.me.mail_folders.by_mail_folder_id("inbox").messages.delta
    begun = await delta.get()
    assert [each.id for each in begun.value] == [stored.entry_id]
    alice.remove(stored)
    told = await delta.with_url(begun.odata_delta_link).get()
    assert [each.additional_data["@removed"] for each in told.value]
    with pytest.raises(ODataError) as caught:
        await client.me.messages.by_message_id(stored.entry_id).get()
    assert (caught.value.response_status_code, caught.value.error.code) == (404, "ErrorItemNotFound")
