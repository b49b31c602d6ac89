"""reply_email of the graph dialect, line by line; on a provider with actions of its own and on one without."""

from __future__ import annotations

import json
import logging

import pytest
from tests.dialects.graph_desk import ALICE, BOB, CAROL, is_preview, log_lines
from tests.flows.caller import text_of

from postroom.model.errors import NotFound, PermissionDenied

COMMENT = "Ja, Montag passt."


@pytest.fixture
async def answer(graph):
    """The arguments of a reply to the letter in the inbox."""
    return {"message_id": await graph.letter(), "comment": COMMENT}


async def test_the_preview_shows_subject_and_sender_of_the_original(graph, answer):
    result = await graph.call("reply_email", **answer)
    assert is_preview(result)
    assert result.structured_content["preview"]["original"] == {"subject": "Besprechung", "from": f"Bob <{BOB}>"}
    assert f"Antwort auf: Besprechung (von Bob <{BOB}>)" in text_of(result)
    assert f"| {COMMENT}" in text_of(result)
    assert graph.provider.attempts == []


@pytest.mark.parametrize(("reply_all", "copies"), [(False, None), (True, [CAROL])])
async def test_the_preview_of_a_reply_to_all_lists_everyone_it_reaches(graph, answer, reply_all, copies):
    shown = (await graph.call.ok("reply_email", **answer, reply_all=reply_all))["preview"]
    assert (shown["to"], shown.get("cc")) == ([f"Bob <{BOB}>"], copies)


async def test_a_reply_goes_to_the_sender_alone(graph, answer):
    sent = await graph.sent("reply_email", **answer)
    assert (sent["status"], sent["recipientCount"]) == ("sent", 1)
    assert sent["message"].startswith("Antwort an 1 Empfänger gesendet")
    assert (await graph.inbox("bob"), await graph.inbox("carol")) == (["Re: Besprechung"], [])
    if graph.is_native:
        assert (graph.action.kind, graph.action.text, graph.action.original_ref) == (
            "reply",
            COMMENT,
            answer["message_id"],
        )


async def test_a_reply_to_all_goes_to_all(graph, answer):
    sent = await graph.sent("reply_email", **answer, reply_all=True)
    assert (sent["status"], sent["recipientCount"]) == ("sent", 2)
    assert (await graph.inbox("bob"), await graph.inbox("carol")) == (["Re: Besprechung"], ["Re: Besprechung"])
    if graph.is_native:
        assert (graph.action.kind, graph.action.text) == ("reply_all", COMMENT)


async def test_the_answer_names_no_address(graph, answer):
    assert "@" not in text_of(await graph.call("reply_email", **answer, reply_all=True, confirm=True))


@pytest.mark.parametrize("confirm", [False, True])
async def test_an_id_that_is_none_is_not_found(graph, confirm):
    error = await graph.call.error("reply_email", message_id="nonexistent", comment=COMMENT, confirm=confirm)
    assert error["code"] == "NotFoundError"


async def test_an_original_that_was_deleted_after_the_preview_is_not_found(graph, answer):
    assert is_preview(await graph.call("reply_email", **answer))
    await graph.delete(answer["message_id"])
    assert (await graph.refusal("reply_email", **answer))["code"] == "NotFoundError"
    assert graph.provider.attempts == []


async def test_an_original_that_the_provider_no_longer_finds_is_not_found(graph, answer):
    graph.provider.refuses = NotFound("graph.example no longer has this item (404 ErrorItemNotFound).")
    assert (await graph.refusal("reply_email", **answer))["code"] == "NotFoundError"


async def test_a_missing_permission_is_an_auth_error_that_names_mail_send(graph, answer):
    graph.provider.refuses = PermissionDenied("No (403).", details={"status": 403})
    error = await graph.refusal("reply_email", **answer)
    assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Send")


async def test_the_same_key_answers_once(graph, answer):
    await graph.sent("reply_email", **answer, idempotency_key="k1")
    again = await graph.sent("reply_email", **answer, idempotency_key="k1")
    assert again["status"] == "already_executed"
    assert again["message"].startswith("Bereits ausgeführt")
    assert len(graph.provider.attempts) == 1


async def test_the_same_key_answers_as_before_when_the_original_is_gone_since(graph, answer):
    await graph.sent("reply_email", **answer, idempotency_key="k1")
    await graph.delete(answer["message_id"])
    again = await graph.sent("reply_email", **answer, idempotency_key="k1")
    assert (again["status"], again["recipientCount"]) == ("already_executed", 1)
    assert again["message"].startswith("Bereits ausgeführt. Antwort an 1 Empfänger gesendet")
    for other in ({"comment": "Nein."}, {"reply_all": True}, {"idempotency_key": "k2"}, {"idempotency_key": ""}):
        error = await graph.refusal("reply_email", **{**answer, "idempotency_key": "k1", **other})
        assert error["code"] == "NotFoundError"
    graph.time.pass_(660)
    assert (await graph.refusal("reply_email", **answer, idempotency_key="k1"))["code"] == "NotFoundError"
    assert len(graph.provider.attempts) == 1


async def test_the_same_key_with_another_comment_is_a_conflict(graph, answer):
    await graph.sent("reply_email", **answer, idempotency_key="k1")
    error = await graph.refusal("reply_email", **{**answer, "comment": "Nein."}, idempotency_key="k1")
    assert (error["code"], len(graph.provider.attempts)) == ("ConflictError", 1)


async def test_without_a_key_it_is_sent_and_no_duplicate_is_spoken_of(graph, answer):
    """The contract's duplicate is one of send_email."""
    for _ in range(2):
        sent = await graph.sent("reply_email", **answer)
        assert (sent["status"], sent.get("warnings")) == ("sent", None)


@pytest.mark.parametrize("wrong", [{"comment": ""}, {"comment": "x" * 100_001}, {"message_id": ""}])
async def test_bad_input_is_a_validation_error_that_names_the_field(graph, answer, wrong):
    error = await graph.refusal("reply_email", **{**answer, **wrong})
    assert (error["code"], list(error["details"])) == ("ValidationError", list(wrong))


async def test_user_id_replies_from_that_user_s_mailbox(graph):
    await graph.sent("send_email", to=[BOB], subject="Frage", body="Wann?")
    (mail,) = (await graph.call.ok("list_emails", user_id=BOB))["emails"]
    sent = await graph.sent("reply_email", message_id=mail["message_id"], comment="Morgen.", user_id=BOB)
    assert sent["status"] == "sent"
    (received,) = (await graph.call.ok("list_emails"))["emails"]
    assert (received["from"], received["subject"]) == (BOB, "Re: Frage")


async def test_an_id_of_another_user_is_not_taken_for_one_s_own(graph):
    await graph.sent("send_email", to=[BOB], subject="Frage", body="Wann?")
    (mail,) = (await graph.call.ok("list_emails", user_id=BOB))["emails"]
    for user in ({"user_id": ALICE}, {"user_id": "me"}, {}):
        error = await graph.refusal("reply_email", message_id=mail["message_id"], comment="Ja.", **user)
        assert error["code"] == "NotFoundError"
    assert await graph.inbox("alice") == []


async def test_its_log_line_has_the_named_fields_and_no_id_or_text(graph, answer, caplog):
    caplog.set_level(logging.DEBUG)
    await graph.call.ok("reply_email", **answer, reply_all=True)
    await graph.sent("reply_email", **answer)
    lines = [line for line in log_lines(caplog) if line["event"] == "tool_call"]
    common = {"time", "level", "logger", "event"}
    assert {frozenset(set(line) - common) for line in lines} == {
        frozenset({"tool", "replyAll", "status", "duration_ms"})
    }
    assert [line["replyAll"] for line in lines] == [True, False]
    shown = json.dumps(log_lines(caplog))
    assert [word for word in (answer["message_id"], COMMENT, BOB, CAROL, "Besprechung") if word in shown] == []
    said = json.dumps([vars(record) for record in caplog.records], default=str)
    assert [word for word in (COMMENT, BOB, CAROL, "Besprechung") if word in said] == []
