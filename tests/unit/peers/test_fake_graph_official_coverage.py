"""Each operation that Postroom uses of Graph, driven by Microsoft's own client: what it sends is taken, what it gets it
understands."""

from __future__ import annotations

import base64
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any

import httpx2
import pytest
from tests.peers.gmail.caller import written
from tests.peers.graph import FakeGraph
from tests.peers.graph.caller import quoted
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.official import USED, official_client

from .test_fake_graph_official_client import BOB, mail, message_to

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the client, within itself


@pytest.fixture(scope="module")
def graph() -> Iterator[FakeGraph]:
    with FakeGraph.started() as graph:
        yield graph


async def messages(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.followup_flag import FollowupFlag
    from msgraph.generated.models.followup_flag_status import FollowupFlagStatus
    from msgraph.generated.models.message import Message
    from msgraph.generated.users.item.messages.item.move.move_post_request_body import MovePostRequestBody

    stored = graph.deliver(alice, mail("one"))
    assert (await client.me.get()).mail == alice.address
    (listed,) = (await client.me.messages.get()).value
    place = client.me.messages.by_message_id(listed.id)
    flag = FollowupFlag(flag_status=FollowupFlagStatus.Flagged)
    changed = await place.patch(Message(is_read=True, categories=["red"], flag=flag))
    assert (changed.is_read, changed.categories, changed.flag.flag_status.value) == (True, ["red"], "flagged")
    assert (await place.get()).subject == "one"
    assert await place.content.get() == stored.raw
    moved = await place.move.post(MovePostRequestBody(destination_id="archive"))
    assert moved.parent_folder_id == alice.well_known["archive"]
    delta = await client.me.mail_folders.by_mail_folder_id("archive").messages.delta.get()
    assert [each.id for each in delta.value] == [moved.id]
    await client.me.messages.by_message_id(moved.id).permanent_delete.post()
    assert alice.messages == []


async def sending(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.email_address import EmailAddress
    from msgraph.generated.models.recipient import Recipient
    from msgraph.generated.users.item.messages.item.forward.forward_post_request_body import ForwardPostRequestBody
    from msgraph.generated.users.item.messages.item.reply.reply_post_request_body import ReplyPostRequestBody
    from msgraph.generated.users.item.messages.item.reply_all.reply_all_post_request_body import ReplyAllPostRequestBody
    from msgraph.generated.users.item.send_mail.send_mail_post_request_body import SendMailPostRequestBody

    bob = graph.user(BOB)
    raw = written("Well?", From=BOB, To=f"{alice.address}, carol@x.example", Subject="Question")
    place = client.me.messages.by_message_id(graph.deliver(alice, raw).immutable_id)
    await place.reply.post(ReplyPostRequestBody(comment="Yes"))
    await place.reply_all.post(ReplyAllPostRequestBody(comment="Yes, all"))
    assert graph.sent[-1].recipients == (BOB, "carol@x.example")
    to = [Recipient(email_address=EmailAddress(address=BOB))]
    await place.forward.post(ForwardPostRequestBody(to_recipients=to))
    await client.me.send_mail.post(SendMailPostRequestBody(message=message_to(BOB, "Hi"), save_to_sent_items=False))
    for draft in (await client.me.messages.post(message_to(BOB, "Plan")), await from_mime(graph, alice, client)):
        await client.me.messages.by_message_id(draft.id).send.post()
    subjects = [each.subject for each in bob.within("inbox")]
    assert sorted(subjects) == ["FW: Question", "Hi", "MIME", "Plan", "RE: Question", "RE: Question"]


async def from_mime(graph: FakeGraph, alice: Mailbox, client: Any) -> Any:
    """For which the client has no method of its own."""
    from msgraph.generated.models.message import Message

    asked = plain(f"{graph.base_url}/me/messages", "POST")
    asked.headers.add("Content-Type", "text/plain")
    asked.content = base64.b64encode(written("Text", From=alice.address, To=BOB, Subject="MIME"))
    return await client.request_adapter.send_async(asked, Message, {})


async def attachments(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.attachment_item import AttachmentItem
    from msgraph.generated.models.attachment_type import AttachmentType
    from msgraph.generated.models.file_attachment import FileAttachment
    from msgraph.generated.users.item.messages.item.attachments.create_upload_session import (
        create_upload_session_post_request_body as upload,
    )

    draft = await client.me.messages.post(message_to(BOB, "Plan"))
    place = client.me.messages.by_message_id(draft.id).attachments
    file = FileAttachment(odata_type="#microsoft.graph.fileAttachment", name="a.txt", content_bytes=b"hello")
    await place.post(file)
    item = AttachmentItem(attachment_type=AttachmentType.File, name="big.bin", size=6, content_type="text/plain")
    session = await place.create_upload_session.post(upload.CreateUploadSessionPostRequestBody(attachment_item=item))
    assert (session.upload_url.startswith(graph.url), session.next_expected_ranges) == (True, ["0-"])
    for first, piece in ((0, b"abc"), (3, b"def")):  # without a token, which the client's own helper would send too
        given = {"Content-Range": f"bytes {first}-{first + 2}/6"}
        assert httpx2.put(session.upload_url, content=piece, headers=given).is_success
    small, large = (await place.get()).value
    assert (small.name, large.name, large.size >= 6) == ("a.txt", "big.bin", True)
    assert (await place.by_attachment_id(large.id).get()).content_bytes == b"abcdef"
    path = f"{graph.base_url}/me/messages/{quoted(draft.id)}/attachments/{quoted(large.id)}/$value"
    assert await client.request_adapter.send_primitive_async(plain(path), "bytes", {}) == b"abcdef"


async def folders(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.mail_folder import MailFolder

    made = await client.me.mail_folders.post(MailFolder(display_name="Projects"))
    place = client.me.mail_folders.by_mail_folder_id(made.id)
    child = await place.child_folders.post(MailFolder(display_name="Roof"))
    assert [each.id for each in (await place.child_folders.get()).value] == [child.id]
    assert (await place.patch(MailFolder(display_name="Work"))).display_name == "Work"
    assert ((await place.get()).display_name, (await place.get()).child_folder_count) == ("Work", 1)
    assert made.id in [each.id for each in (await client.me.mail_folders.get()).value]
    await client.me.mail_folders.by_mail_folder_id(child.id).permanent_delete.post()
    assert (await place.child_folders.get()).value == []


async def rules(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.message_rule import MessageRule
    from msgraph.generated.models.message_rule_actions import MessageRuleActions
    from msgraph.generated.models.message_rule_predicates import MessageRulePredicates

    place = client.me.mail_folders.by_mail_folder_id("inbox").message_rules
    conditions = MessageRulePredicates(subject_contains=["invoice"])
    actions = MessageRuleActions(mark_as_read=True, assign_categories=["Bills"])
    made = await place.post(
        MessageRule(display_name="Bills", sequence=1, conditions=conditions, actions=actions, is_enabled=True)
    )
    assert [each.conditions.subject_contains for each in (await place.get()).value] == [["invoice"]]
    assert graph.deliver(alice, mail("Your invoice")).categories == ["Bills"]
    one = place.by_message_rule_id(made.id)
    assert (await one.patch(MessageRule(is_enabled=False))).is_enabled is False
    await one.delete()
    assert (await place.get()).value == []


async def settings(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    from msgraph.generated.models.automatic_replies_setting import AutomaticRepliesSetting
    from msgraph.generated.models.automatic_replies_status import AutomaticRepliesStatus
    from msgraph.generated.models.category_color import CategoryColor
    from msgraph.generated.models.mailbox_settings import MailboxSettings
    from msgraph.generated.models.outlook_category import OutlookCategory

    reply = AutomaticRepliesSetting(status=AutomaticRepliesStatus.AlwaysEnabled, external_reply_message="Away")
    await client.me.mailbox_settings.patch(MailboxSettings(automatic_replies_setting=reply))
    found = (await client.me.mailbox_settings.get()).automatic_replies_setting
    assert (found.status.value, "Away" in found.external_reply_message) == ("alwaysEnabled", True)
    place = client.me.outlook.master_categories
    made = await place.post(OutlookCategory(display_name="Bills", color=CategoryColor.Preset1))
    assert [each.display_name for each in (await place.get()).value] == ["Bills"]
    await place.by_outlook_category_id(made.id).delete()
    assert (await place.get()).value == []


async def batches(graph: FakeGraph, alice: Mailbox, client: Any) -> None:
    """With one answer of JSON, one of MIME and a refusal. (Of bodies the client's parser keeps none.)"""
    needed = ModuleType("deprecated")  # the client imports it there for nothing but marks, and does not require it
    needed.deprecated = lambda *_, **__: lambda function: function  # type: ignore[attr-defined]
    sys.modules.setdefault("deprecated", needed)
    from msgraph_core.requests.batch_request_builder import BatchRequestBuilder
    from msgraph_core.requests.batch_request_content import BatchRequestContent
    from msgraph_core.requests.batch_request_item import BatchRequestItem

    stored = graph.deliver(alice, mail("one"))
    content = BatchRequestContent()
    there = f"/me/messages/{quoted(stored.entry_id)}"
    for number, path in enumerate((there, f"{there}/$value", "/me/messages/" + "A" * 40)):
        content.add_request(None, BatchRequestItem(plain(path), str(number)))
    answers = await BatchRequestBuilder(client.request_adapter).post(content)
    assert answers.get_response_status_codes() == {"0": 200, "1": 200, "2": 404}


def plain(url: str, method: str = "GET") -> Any:
    from kiota_abstractions.method import Method
    from kiota_abstractions.request_information import RequestInformation

    asked = RequestInformation(Method[method])
    asked.url = url
    return asked


AREAS: dict[Callable[..., Awaitable[None]], set[str]] = {
    messages: {"user.get", *(f"messages.{name}" for name in ("list", "update", "get", "content", "move", "delta"))}
    | {"messages.permanentDelete"},
    sending: {"sendMail", *(f"messages.{name}" for name in ("reply", "replyAll", "forward", "create", "send"))},
    attachments: {"upload", *(f"attachments.{name}" for name in ("create", "upload", "list", "get", "content"))},
    folders: {
        f"folders.{name}" for name in ("create", "createChild", "children", "update", "get", "list", "permanentDelete")
    },
    rules: {f"rules.{name}" for name in ("create", "list", "update", "delete")},
    settings: {"mailboxSettings.get", "mailboxSettings.update"}
    | {f"categories.{name}" for name in ("create", "list", "delete")},
    batches: {"batch"},
}


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.__name__)
async def test_microsofts_own_client_does_what_postroom_does(
    graph: FakeGraph, area: Callable[..., Awaitable[None]]
) -> None:
    graph.users.clear()
    graph.sent.clear()
    alice = graph.user("alice@contoso.example", "Alice Ample")
    graph.forget()
    await area(graph, alice, official_client(graph, graph.token(alice)))
    assert {one.operation for one in graph.requests} >= AREAS[area]
    assert [one for one in graph.requests if one.status >= 400 and not one.in_batch] == []


def test_nothing_that_postroom_uses_is_left_out() -> None:
    assert set.union(*AREAS.values()) == USED
