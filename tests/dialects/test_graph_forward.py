"""forward_email of the graph dialect, line by line; on a provider with actions of its own and on one without."""

from __future__ import annotations

import json
import logging

import pytest
from tests.dialects.graph_desk import ALICE, BOB, CAROL, PLAIN, WITH_FILE, is_preview, log_lines
from tests.flows.caller import text_of

from postroom.model.errors import InvalidRequest, NotFound, PermissionDenied

COMMENT = "Zur Info, siehe unten."


@pytest.fixture
async def forward(graph):
    """The arguments of a forward of the letter in the inbox."""
    return {"message_id": await graph.letter(WITH_FILE), "to": [CAROL], "comment": COMMENT}


@pytest.mark.parametrize(("raw", "files"), [(WITH_FILE, "ja"), (PLAIN, "nein")])
async def test_the_preview_says_what_goes_to_whom_and_whether_with_attachments(graph, raw, files):
    result = await graph.call("forward_email", message_id=await graph.letter(raw), to=[CAROL, ALICE], comment=COMMENT)
    assert is_preview(result)
    sentence = f"Weiterleitung von: Besprechung (von Bob <{BOB}>) an: {CAROL}, {ALICE}. Anhänge: {files}."
    assert sentence in text_of(result)
    shown = result.structured_content["preview"]
    assert shown["original"] == {
        "subject": "Besprechung",
        "from": f"Bob <{BOB}>",
        "hasAttachments": files == "ja",
    }
    assert (shown["to"], shown["body"]) == ([CAROL, ALICE], COMMENT)
    assert graph.provider.attempts == []


async def test_a_confirmed_forward_is_sent_and_answered_without_addresses(graph, forward):
    result = await graph.call("forward_email", **forward, confirm=True)
    assert result.structured_content["status"] == "sent"
    assert result.structured_content["recipientCount"] == 1
    assert text_of(result).startswith("Weiterleitung an 1 Empfänger gesendet")
    assert "@" not in text_of(result)
    assert await graph.inbox("carol") == ["Fwd: Besprechung"]
    if graph.is_native:
        action = graph.action
        assert (action.kind, action.text, action.original_ref) == ("forward", COMMENT, forward["message_id"])


@pytest.mark.parametrize("comment", [{}, {"comment": ""}])
async def test_without_a_comment_none_is_given_to_the_provider(graph, comment):
    sent = await graph.sent("forward_email", message_id=await graph.letter(), to=[CAROL], **comment)
    assert sent["status"] == "sent"
    if graph.is_native:
        assert graph.action.text == ""


@pytest.mark.parametrize("to", [[CAROL], [CAROL, BOB]], ids=["one", "several"])
async def test_every_recipient_is_given_to_the_provider(graph, forward, to):
    await graph.sent("forward_email", **{**forward, "to": to})
    (request,) = graph.provider.submitted
    assert list(request.envelope.recipients) == to
    if graph.is_native:
        assert [one.email for one in graph.action.named.to] == to


async def test_a_composed_forward_takes_the_attachments_along(graph, forward):
    await graph.sent("forward_email", **forward)
    if not graph.is_native:
        (request,) = graph.provider.submitted
        assert b'filename="plan.pdf"' in request.raw


async def test_a_forward_to_oneself_works(graph, forward):
    assert (await graph.sent("forward_email", **{**forward, "to": [ALICE]}))["status"] == "sent"
    assert sorted(await graph.inbox("alice")) == ["Besprechung", "Fwd: Besprechung"]


@pytest.mark.parametrize("confirm", [False, True])
async def test_an_id_that_is_none_is_not_found(graph, confirm):
    error = await graph.call.error("forward_email", message_id="nonexistent", to=[CAROL], confirm=confirm)
    assert error["code"] == "NotFoundError"


@pytest.mark.parametrize(
    ("refusal", "name"),
    [
        (InvalidRequest("No (400 ErrorInvalidRecipients).", details={"status": 400}), "ValidationError"),
        (PermissionDenied("No (403).", details={"status": 403}), "AuthError"),
        (NotFound("Gone (404)."), "NotFoundError"),
    ],
    ids=["400", "403", "404"],
)
async def test_what_the_provider_refuses_is_the_contract_s_error(graph, forward, refusal, name):
    graph.provider.refuses = refusal
    error = await graph.refusal("forward_email", **forward)
    assert (error["code"], error.get("requiredScope")) == (name, "Mail.Send" if name == "AuthError" else None)


async def test_an_original_that_was_deleted_after_the_preview_is_not_found(graph, forward):
    assert is_preview(await graph.call("forward_email", **forward))
    await graph.delete(forward["message_id"])
    assert (await graph.refusal("forward_email", **forward))["code"] == "NotFoundError"


async def test_the_same_key_forwards_once(graph, forward):
    await graph.sent("forward_email", **forward, idempotency_key="k1")
    again = await graph.sent("forward_email", **forward, idempotency_key="k1")
    assert again["status"] == "already_executed"
    assert again["message"].startswith("Bereits ausgeführt")
    assert len(graph.provider.attempts) == 1


async def test_the_same_key_answers_as_before_when_the_forwarded_email_is_gone_since(graph, forward):
    await graph.sent("forward_email", **forward, idempotency_key="k1")
    await graph.delete(forward["message_id"])
    again = await graph.sent("forward_email", **forward, idempotency_key="k1")
    assert again["status"] == "already_executed"
    assert again["message"].startswith("Bereits ausgeführt. Weiterleitung an")
    error = await graph.refusal("forward_email", **{**forward, "to": ["x@y.example"]}, idempotency_key="k1")
    assert (error["code"], len(graph.provider.attempts)) == ("NotFoundError", 1)


@pytest.mark.parametrize(
    "wrong", [{"to": []}, {"to": ["nicht-eine-email"]}, {"comment": "x" * 100_001}, {"message_id": ""}]
)
async def test_bad_input_is_a_validation_error_that_names_the_field(graph, forward, wrong):
    error = await graph.refusal("forward_email", **{**forward, **wrong})
    assert (error["code"], list(error["details"])) == ("ValidationError", list(wrong))


async def test_user_id_forwards_from_that_user_s_mailbox(graph):
    await graph.sent("send_email", to=[BOB], subject="Frage", body="Wann?")
    (mail,) = (await graph.call.ok("list_emails", user_id=BOB))["emails"]
    await graph.sent("forward_email", message_id=mail["message_id"], to=[CAROL], user_id=BOB)
    (received,) = (await graph.call.ok("list_emails", user_id=CAROL))["emails"]
    assert (received["from"], received["subject"]) == (BOB, "Fwd: Frage")


async def test_its_log_line_has_the_named_fields_and_no_address_or_id(graph, forward, caplog):
    caplog.set_level(logging.DEBUG)
    await graph.sent("forward_email", **forward)
    await graph.sent("forward_email", message_id=forward["message_id"], to=[CAROL, BOB])
    lines = [line for line in log_lines(caplog) if line["event"] == "tool_call"]
    common = {"time", "level", "logger", "event"}
    assert {frozenset(set(line) - common) for line in lines} == {
        frozenset({"tool", "recipientCount", "hasComment", "status", "duration_ms"})
    }
    assert [(line["recipientCount"], line["hasComment"]) for line in lines] == [(1, True), (2, False)]
    shown = json.dumps(log_lines(caplog))
    assert [word for word in (forward["message_id"], COMMENT, BOB, CAROL, "Besprechung") if word in shown] == []
