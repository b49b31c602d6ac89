"""The graph dialect on Microsoft Graph itself: what becomes of requests and of the answers to them."""

from __future__ import annotations

import base64

import pytest
from tests.dialects.graph_desk import PLAIN
from tests.dialects.graph_office import NUMBERS, SCOPES, inbox, office
from tests.dialects.graph_scenario import PREFIX, clean_up, sent_answered_and_forwarded

from postroom.service.sending import worker


@pytest.mark.parametrize("tool", ["send_email", "reply_email", "forward_email"])
async def test_without_the_scope_each_tool_says_which_one_is_missing(microsoft, tmp_path, tool):
    async with office(microsoft, tmp_path, SCOPES - {"Mail.Send"}) as at:
        message_id = at.letter()
        arguments = {
            "send_email": at.mail,
            "reply_email": {"message_id": message_id, "comment": "Ja."},
            "forward_email": {"message_id": message_id, "to": [at.you.address]},
        }[tool]
        error = await at.refusal(tool, **arguments)
        assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Send")
        assert inbox(at.you) == []


async def test_a_login_that_may_send_and_nothing_else_sends(microsoft, tmp_path):
    async with office(microsoft, tmp_path, {"Mail.Send"}) as at:
        assert (await at.sent("send_email", **at.mail))["status"] == "sent"
        assert inbox(at.you) == ["Angebot"]
        error = await at.call.error("list_emails")
        assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Read")


async def test_another_user_s_mailbox_without_rights_or_without_existence_is_named_as_such(at):
    stranger = at.graph.user(f"stranger{next(NUMBERS)}@contoso.example")
    error = await at.refusal("send_email", **at.mail, user_id=stranger.address)
    assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Send.Shared")
    error = await at.call.error("list_emails", user_id=stranger.address)
    assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Read.Shared")
    error = await at.refusal("send_email", **at.mail, user_id="nobody@contoso.example")
    assert error["code"] == "NotFoundError"
    assert inbox(at.you) == []


async def test_a_message_with_attachments_leaves_no_copy_where_none_is_wanted(at):
    file = {"name": "plan.pdf", "content_base64": base64.b64encode(b"%PDF").decode()}
    sent = await at.sent("send_email", **at.mail, attachments=[file], save_to_sent_items=False)
    assert (sent["status"], sent.get("warnings")) == ("sent", None)
    assert (inbox(at.you), at.me.within("sentitems")) == (["Angebot"], [])


async def test_a_recipient_that_graph_refuses_is_a_validation_error(at):
    at.graph.unresolvable.add("weg@contoso.example")
    for tool, arguments in (
        ("send_email", {**at.mail, "to": ["weg@contoso.example"]}),
        ("forward_email", {"message_id": at.letter(), "to": ["weg@contoso.example"]}),
    ):
        error = await at.refusal(tool, **arguments)
        assert error["code"] == "ValidationError"
        assert "ErrorInvalidRecipients" in error["message"]


async def test_an_original_that_is_gone_when_it_is_answered_is_not_found(at):
    message_id = at.letter()
    at.graph.fail_next("POST", "messages.reply", status=404, reason="ErrorItemNotFound")
    assert (await at.refusal("reply_email", message_id=message_id, comment="Ja."))["code"] == "NotFoundError"
    with at.graph.lock:
        at.me.remove(at.me.message(message_id))
    for tool, more in (("reply_email", {"comment": "Ja."}), ("forward_email", {"to": [at.you.address]})):
        assert (await at.refusal(tool, message_id=message_id, **more))["code"] == "NotFoundError"


async def test_a_request_that_graph_finds_too_large_is_a_validation_error_with_its_size(at):
    at.graph.fail_next("POST", "sendMail", status=413)
    error = await at.refusal("send_email", **{**at.mail, "body": "x" * 90_000})
    assert (error["code"], error["details"]["status"]) == ("ValidationError", 413)
    assert error["details"]["size"] > 90_000


async def test_retry_after_is_kept_and_the_message_leaves_once(at):
    at.graph.fail_next("POST", "sendMail", status=429, retry_after=1)  # which the client itself waits for
    error = await at.refusal("send_email", **at.mail)
    assert error["code"] == "RateLimitError"
    await worker.work_once(at.gateway)
    assert inbox(at.you) == []
    at.time.pass_(error["retryAfter"] + 1)
    await worker.work_once(at.gateway)
    assert inbox(at.you) == ["Angebot"]


async def test_the_same_key_is_one_request(at):
    for status in ("sent", "already_executed"):
        assert (await at.sent("send_email", **at.mail, idempotency_key="k1"))["status"] == status
    assert len(at.posts()) == 1


async def test_a_message_with_attachments_arrives_with_them(at):
    file = {"name": "plan.pdf", "content_base64": base64.b64encode(b"%PDF").decode(), "content_type": "application/pdf"}
    assert (await at.sent("send_email", **at.mail, attachments=[file]))["status"] == "sent"
    (received,) = at.you.within("inbox")
    assert b'filename="plan.pdf"' in received.raw


async def test_from_sending_over_sent_items_to_reply_and_forward(at):
    """End to end on two mailboxes: what was sent is found, answered in its thread, and forwarded."""
    await at.sent("send_email", **at.mail)
    (copy,) = (await at.call.ok("list_emails", folder="sentitems"))["emails"]
    assert copy["subject"] == "Angebot"
    message_id = at.letter()
    (found,) = (await at.call.ok("search_emails", query="subject:Besprechung"))["emails"]
    assert found["message_id"] == message_id
    await at.sent("reply_email", message_id=message_id, comment="Ja.")
    await at.sent("forward_email", message_id=message_id, to=[at.you.address])
    assert sorted(inbox(at.you)) == ["Angebot", "FW: Besprechung", "RE: Besprechung"]


async def test_the_scenario_for_a_real_mailbox_works_and_leaves_nothing_behind(at):
    """The messages of an earlier run, which was interrupted, are removed too."""
    at.letter(PLAIN.replace("Besprechung", f"{PREFIX}alt"))
    await sent_answered_and_forwarded(at.gateway, at.call, at.me.address, at.you.address, "1")
    assert await clean_up(at.gateway, at.call) >= 5
    assert [message.content.subject for name in ("inbox", "sentitems") for message in at.me.within(name)] == []
