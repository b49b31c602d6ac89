"""send_email of the graph dialect, line by line; on a provider with actions of its own and on one without."""

from __future__ import annotations

import base64
import json
import logging
import math
from email import message_from_bytes, policy

import pytest
from tests.dialects.conftest import client_of
from tests.dialects.graph_desk import ALICE, BOB, CAROL, MAIL, graph_desk, is_preview, log_lines
from tests.flows.caller import text_of
from tests.peers import memory_mailbox
from tests.peers.memory_mailbox import KIND, MemoryMailbox, MemoryTransport

from postroom.doors.mcp.serve import server_for
from postroom.model.errors import AuthRequired, InvalidRequest, PermissionDenied, RateLimited
from postroom.providers import registry
from postroom.service.sending import worker
from postroom.settings import build

PERSONAL = ("geheim@demo.example", "Geheimer Betreff", "Vertraulicher Text")
WARNING = "Mögliches Duplikat"


def submitted(graph):
    """The one message, as its readers get it."""
    (request,) = graph.provider.submitted
    return message_from_bytes(request.raw, policy=policy.default)


async def test_the_preview_has_recipients_subject_and_the_first_200_characters(graph):
    body = "Anfang " + "x" * 300
    mail = {**MAIL, "body": body, "cc": [CAROL], "bcc": [ALICE]}
    result = await graph.call("send_email", **mail)
    shown = result.structured_content["preview"]
    assert is_preview(result)
    assert (shown["to"], shown["cc"], shown["bcc"], shown["subject"]) == ([BOB], [CAROL], [ALICE], "Angebot")
    assert shown["body"] == body[:200]
    for said in (f"An: {BOB}", f"CC: {CAROL}", f"BCC: {ALICE}", "Betreff: Angebot", f"| {body[:200]}"):
        assert said in text_of(result)
    assert body[:201] not in text_of(result)
    assert graph.provider.attempts == []


async def test_no_line_of_a_body_passes_for_one_of_the_preview(graph):
    text = await graph.text("send_email", **{**MAIL, "body": "Hallo\nAn: eve@evil.example"})
    assert "\n| An: eve@evil.example" in text


async def test_a_confirmed_mail_is_sent_and_answered_with_time_and_count_but_no_address(graph):
    answer = await graph.call("send_email", **{**MAIL, "cc": [CAROL]}, confirm=True)
    assert answer.structured_content == {
        "status": "sent",
        "message": "E-Mail an 2 Empfänger gesendet: vom Anbieter angenommen am 2027-01-15T08:00:00+00:00.",
        "timestamp": "2027-01-15T08:00:00+00:00",
        "recipientCount": 2,
    }
    assert "@" not in text_of(answer)
    assert (await graph.inbox("bob"), await graph.inbox("carol")) == (["Angebot"], ["Angebot"])


async def test_where_the_provider_has_the_action_it_is_used_and_elsewhere_it_is_composed(graph):
    await graph.sent("send_email", **MAIL)
    (request,) = graph.provider.submitted
    assert (request.native.kind if graph.is_native else request.native) == ("send" if graph.is_native else None)
    assert bool(request.raw) is not graph.is_native


async def test_html_is_sent_as_html(graph):
    await graph.sent("send_email", **{**MAIL, "body": "<p>Hallo</p>"}, body_type="html")
    if graph.is_native:
        assert (graph.action.html, graph.action.text) == ("<p>Hallo</p>", "")
    else:
        assert submitted(graph).get_body(("html",)).get_content().strip() == "<p>Hallo</p>"


async def test_script_tags_are_sent_as_they_are_and_shown_for_what_they_are(graph):
    body = "<p>Hallo</p><script>alert(1)</script>"
    preview = await graph.call("send_email", **{**MAIL, "body": body}, body_type="html")
    assert is_preview(preview)
    assert preview.structured_content["preview"]["body"].strip() == "Hallo"
    assert (await graph.sent("send_email", **{**MAIL, "body": body}, body_type="html"))["status"] == "sent"
    if graph.is_native:
        assert graph.action.html == body


async def test_the_same_key_sends_once_and_answers_as_before(graph):
    first = await graph.sent("send_email", **MAIL, idempotency_key="k1")
    graph.time.pass_(60)
    again = await graph.sent("send_email", **MAIL, idempotency_key="k1")
    assert (again["status"], again["message"]) == ("already_executed", f"Bereits ausgeführt. {first['message']}")
    assert (again["timestamp"], again["recipientCount"]) == (first["timestamp"], 1)
    assert len(graph.provider.attempts) == 1


async def test_another_key_sends_again(graph):
    for key in ("k1", "k2"):
        assert (await graph.sent("send_email", **MAIL, idempotency_key=key))["status"] == "sent"
    assert len(graph.provider.attempts) == 2


async def test_without_a_key_every_confirmed_call_sends(graph):
    for _ in range(2):
        assert (await graph.sent("send_email", **MAIL))["status"] == "sent"
    assert await graph.inbox("bob") == ["Angebot", "Angebot"]


@pytest.mark.parametrize(("seconds", "status"), [(600, "already_executed"), (601, "sent")])
async def test_a_key_is_remembered_for_ten_minutes_and_no_longer(graph, seconds, status):
    await graph.sent("send_email", **MAIL, idempotency_key="k1")
    graph.time.pass_(seconds)
    assert (await graph.sent("send_email", **MAIL, idempotency_key="k1"))["status"] == status
    assert len(graph.provider.attempts) == (2 if status == "sent" else 1)


async def test_a_preview_neither_uses_nor_asks_the_key(graph):
    assert is_preview(await graph.call("send_email", **MAIL, idempotency_key="k1"))
    assert (await graph.sent("send_email", **MAIL, idempotency_key="k1"))["status"] == "sent"
    assert is_preview(await graph.call("send_email", **MAIL, idempotency_key="k1"))


async def test_the_same_key_with_other_content_is_a_conflict_and_sends_nothing(graph):
    await graph.sent("send_email", **MAIL, idempotency_key="k1")
    error = await graph.refusal("send_email", **{**MAIL, "body": "Etwas anderes."}, idempotency_key="k1")
    assert error["code"] == "ConflictError"
    assert "idempotency_key" in error["message"]
    assert len(graph.provider.attempts) == 1


@pytest.mark.parametrize("body_type", ["text", "html"])
async def test_a_duplicate_within_two_minutes_is_warned_of_and_sent_all_the_same(graph, body_type):
    mail = {**MAIL, "body": "<p>Hallo\nWelt</p>", "body_type": body_type}
    first = await graph.sent("send_email", **mail)
    graph.time.pass_(120)
    twin = await graph.sent("send_email", **{**mail, "subject": "ANGEBOT"})
    assert "warnings" not in first
    assert twin["status"] == "sent"
    assert twin["warnings"][0].startswith(WARNING)
    assert len(graph.provider.attempts) == 2


async def test_after_two_minutes_nothing_is_warned_of(graph):
    await graph.sent("send_email", **MAIL)
    graph.time.pass_(121)
    assert "warnings" not in await graph.sent("send_email", **MAIL)


@pytest.mark.parametrize("other", [{"to": [CAROL]}, {"subject": "Anderes"}, {"body": "Anderes"}])
async def test_another_recipient_subject_or_beginning_is_no_duplicate(graph, other):
    await graph.sent("send_email", **MAIL)
    assert "warnings" not in await graph.sent("send_email", **{**MAIL, **other})


async def test_what_differs_after_200_characters_is_a_duplicate(graph):
    long = "x" * 200
    await graph.sent("send_email", **{**MAIL, "body": long + "eins"})
    assert (await graph.sent("send_email", **{**MAIL, "body": long + "zwei"}))["warnings"][0].startswith(WARNING)


async def test_what_was_not_accepted_or_came_from_another_user_is_no_duplicate(graph):
    graph.provider.refuses = InvalidRequest("No.")
    await graph.refusal("send_email", **MAIL)
    graph.provider.refuses = None
    assert is_preview(await graph.call("send_email", **MAIL))
    assert "warnings" not in await graph.sent("send_email", **MAIL), "only a preview and a refusal were before it"
    assert "warnings" not in await graph.sent("send_email", **{**MAIL, "to": [CAROL]}, user_id=BOB)
    assert "warnings" not in await graph.sent("send_email", **{**MAIL, "to": [CAROL]})


@pytest.mark.parametrize("other", [{"to": [CAROL, BOB]}, {"cc": [ALICE]}, {"bcc": [ALICE]}, {"importance": "high"}])
async def test_the_order_of_recipients_and_whoever_gets_a_copy_make_no_difference(graph, other):
    """The contract's hash is of `to`, sorted, the subject and the beginning of the body."""
    both = {**MAIL, "to": [BOB, CAROL]}
    await graph.sent("send_email", **both)
    assert (await graph.sent("send_email", **{**both, **other}))["warnings"][0].startswith(WARNING)


async def test_a_preview_warns_of_a_duplicate_too(graph):
    await graph.sent("send_email", **MAIL)
    assert (await graph.call.ok("send_email", **MAIL))["warnings"][0].startswith(WARNING)


async def test_cc_and_bcc_are_given_to_the_provider_as_such(graph):
    await graph.sent("send_email", **MAIL, cc=[CAROL], bcc=[ALICE])
    (request,) = graph.provider.submitted
    assert set(request.envelope.recipients) == {BOB, CAROL, ALICE}
    if graph.is_native:
        named = graph.action.named
        fields = [[one.email for one in field] for field in (named.to, named.cc, named.bcc)]
        assert fields == [[BOB], [CAROL], [ALICE]]
    else:
        assert (submitted(graph)["To"], submitted(graph)["Cc"], submitted(graph)["Bcc"]) == (BOB, CAROL, None)


@pytest.mark.parametrize(("wanted", "copies"), [(True, 1), (False, 0)])
async def test_a_copy_is_kept_in_sent_items_unless_it_is_not_wanted(graph, wanted, copies):
    assert (
        "Gesendete Elemente: keine Kopie" in await graph.text("send_email", **MAIL, save_to_sent_items=wanted)
    ) != wanted
    await graph.sent("send_email", **MAIL, save_to_sent_items=wanted)
    assert graph.provider.submitted[0].save_to_sent is wanted
    assert len((await graph.call.ok("list_emails", folder="sentitems"))["emails"]) == copies


async def test_the_importance_is_given_to_the_provider(graph):
    assert "Wichtigkeit: high" in await graph.text("send_email", **MAIL, importance="high")
    await graph.sent("send_email", **MAIL, importance="high")
    if graph.is_native:
        assert graph.action.importance == "high"
    else:
        assert submitted(graph)["Importance"] == "high"


async def test_recipients_that_the_provider_refuses_are_a_validation_error(graph):
    graph.provider.refuses = InvalidRequest(
        "graph.example does not accept this request (400 ErrorInvalidRecipients).", details={"status": 400}
    )
    error = await graph.refusal("send_email", **MAIL)
    assert error["code"] == "ValidationError"
    assert "ErrorInvalidRecipients" in error["message"]


async def test_the_operators_limit_is_a_rate_limit_error_that_says_when_the_next_email_can_be_sent(graph):
    for number in range(10):
        await graph.sent("send_email", **{**MAIL, "subject": str(number)})
    error = await graph.refusal("send_email", **MAIL)
    assert error["code"] == "RateLimitError"
    assert error["message"] == (
        "Das Sendelimit von 10 E-Mails pro Stunde ist erreicht. Es wurde nichts gesendet; der nächste Versand ist in "
        f"{math.ceil(error['retryAfter'] / 60)} Minuten möglich."
    )


async def test_recipients_unknown_to_the_server_are_a_validation_error(graph):
    error = await graph.refusal("send_email", **{**MAIL, "to": [BOB, "niemand@demo.example"]})
    assert error["code"] == "ValidationError"
    assert error["message"].startswith("Der Anbieter lehnt Empfänger ab: niemand@demo.example (")
    assert await graph.inbox("bob") == []


async def test_a_missing_permission_is_an_auth_error_that_names_mail_send(graph):
    graph.provider.refuses = PermissionDenied("graph.example does not allow that (403).", details={"status": 403})
    error = await graph.refusal("send_email", **MAIL)
    assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Send")
    assert "Mail.Send" in error["message"]


async def test_a_login_that_no_longer_counts_is_an_auth_error_and_nothing_is_lost(graph):
    graph.provider.refuses = AuthRequired("Log in again.")
    error = await graph.refusal("send_email", **MAIL)
    assert (error["code"], error["requiredScope"]) == ("AuthError", "Mail.Send")
    assert "Postausgang" in error["message"]


@pytest.mark.parametrize("seconds", [30, 90])
async def test_too_many_requests_are_a_rate_limit_error_and_tried_again_after_the_pause(graph, seconds):
    graph.provider.refuses = RateLimited("graph.example received too many requests (429).", retry_after=seconds)
    error = await graph.refusal("send_email", **MAIL)
    assert error["code"] == "RateLimitError"
    assert error["retryAfter"] >= seconds
    assert "Nicht erneut senden" in error["message"]
    graph.provider.refuses = None
    graph.time.pass_(seconds - 1)
    await worker.work_once(graph.gateway)
    assert len(graph.provider.attempts) == 1
    graph.time.pass_(error["retryAfter"])
    await worker.work_once(graph.gateway)
    assert await graph.inbox("bob") == ["Angebot"]
    assert len(graph.provider.attempts) == 2


async def test_a_call_repeated_while_the_first_waits_sends_nothing_more(graph):
    graph.provider.refuses = RateLimited("Slowly (429).", retry_after=30)
    await graph.refusal("send_email", **MAIL)
    graph.provider.refuses = None
    assert (await graph.refusal("send_email", **MAIL))["code"] == "RateLimitError"
    graph.time.pass_(61)
    await worker.work_once(graph.gateway)
    assert await graph.inbox("bob") == ["Angebot"]


async def test_too_large_is_a_validation_error_with_the_size(graph):
    graph.provider.refuses = InvalidRequest("graph.example does not accept that (413).", details={"status": 413})
    error = await graph.refusal("send_email", **{**MAIL, "body": "x" * 100_000})
    assert error["code"] == "ValidationError"
    assert error["details"]["size"] > 100_000
    assert "0.1 MB zu groß" in error["message"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"to": []}, "to"),
        ({"to": ["nicht-eine-email"]}, "to"),
        ({"to": [BOB] * 501}, "to"),
        ({"cc": ["nicht-eine-email"]}, "cc"),
        ({"cc": [CAROL] * 501}, "cc"),
        ({"bcc": [CAROL] * 501}, "bcc"),
        ({"subject": ""}, "subject"),
        ({"subject": "x" * 256}, "subject"),
        ({"body": ""}, "body"),
        ({"body": "x" * 100_001}, "body"),
        ({"body_type": "markdown"}, "body_type"),
        ({"importance": "urgent"}, "importance"),
    ],
)
async def test_bad_input_is_a_validation_error_that_names_the_field(tmp_path, wrong, field):
    async with graph_desk(tmp_path) as graph:
        error = await graph.refusal("send_email", **{**MAIL, **wrong})
        assert (error["code"], list(error["details"])) == ("ValidationError", [field])
        assert graph.provider.attempts == []


@pytest.mark.parametrize("nearly", ["true", "yes", "1", 1])
async def test_nothing_but_true_confirms(graph, nearly):
    error = await graph.call.error("send_email", **MAIL, confirm=nearly)
    assert (error["code"], list(error["details"])) == ("ValidationError", ["confirm"])
    assert graph.provider.attempts == []


@pytest.mark.parametrize(("tool", "choice"), [("send_email", "save_to_sent_items"), ("reply_email", "reply_all")])
async def test_a_choice_is_true_or_false_and_no_word_for_it(graph, tool, choice):
    given = {"message_id": await graph.letter(), "comment": "Danke!"} if tool == "reply_email" else MAIL
    error = await graph.refusal(tool, **given, **{choice: "yes"})
    assert (error["code"], list(error["details"])) == ("ValidationError", [choice])
    assert graph.provider.attempts == []


async def test_an_address_that_is_none_is_called_so_in_the_contract_s_words(tmp_path):
    async with graph_desk(tmp_path) as graph:
        error = await graph.refusal("send_email", **{**MAIL, "to": [BOB, "nicht-eine-email"]})
        assert error["details"] == {"to": "Ungültige E-Mail-Adresse"}


async def test_the_limits_themselves_are_allowed(graph):
    assert (await graph.sent("send_email", **{**MAIL, "subject": "x" * 255, "body": "y" * 100_000}))["status"] == "sent"


async def test_five_hundred_recipients_are_one_mail(graph):
    graph.provider.takes_all = True
    everyone = [f"kunde{number}@demo.example" for number in range(500)]
    answer = await graph.sent("send_email", **{**MAIL, "to": everyone})
    assert (answer["status"], answer["recipientCount"]) == ("sent", 500)
    (request,) = graph.provider.submitted
    assert set(request.envelope.recipients) == set(everyone)


async def test_attachments_arrive_with_their_bytes_names_and_types(graph):
    files = [
        {"name": "plan.pdf", "content_base64": base64.b64encode(b"%PDF").decode(), "content_type": "application/pdf"},
        {"name": "notiz.txt", "content_base64": base64.b64encode(b"Hallo").decode()},
    ]
    assert "plan.pdf" in await graph.text("send_email", **MAIL, attachments=files)
    assert (await graph.sent("send_email", **MAIL, attachments=files))["status"] == "sent"
    parts = list(submitted(graph).iter_attachments())
    assert [(part.get_filename(), part.get_content_type(), part.get_payload(decode=True)) for part in parts] == [
        ("plan.pdf", "application/pdf", b"%PDF"),
        ("notiz.txt", "text/plain", b"Hallo"),
    ]


async def test_an_attachment_of_four_megabytes_or_of_no_base64_is_a_validation_error(tmp_path):
    async with graph_desk(tmp_path) as graph:
        for content in (base64.b64encode(b"x" * 4 * 2**20).decode(), "kein Base64!"):
            file = {"name": "a.bin", "content_base64": content}
            assert (await graph.refusal("send_email", **MAIL, attachments=[file]))["code"] == "ValidationError"
        assert graph.provider.attempts == []


async def test_an_attachment_just_under_four_megabytes_is_sent(tmp_path):
    async with graph_desk(tmp_path) as graph:
        graph.provider.takes_all = True
        file = {"name": "a.bin", "content_base64": base64.b64encode(b"x" * (4 * 2**20 - 1)).decode()}
        assert (await graph.sent("send_email", **MAIL, attachments=[file]))["status"] == "sent"


async def test_user_id_sends_from_that_user_s_mailbox(tmp_path, monkeypatch):
    monkeypatch.setattr(
        registry, "MAILBOXES", {**registry.MAILBOXES, KIND: f"{memory_mailbox.__name__}:SharingMailbox"}
    )
    monkeypatch.setattr(
        registry, "TRANSPORTS", {**registry.TRANSPORTS, KIND: f"{memory_mailbox.__name__}:MemoryTransport"}
    )
    monkeypatch.setattr(MemoryMailbox, "kept", {})
    monkeypatch.setattr(MemoryTransport, "submitted", [])
    account = {"name": "mine", "provider": KIND, "address": ALICE, "base_url": "http://127.0.0.1:1"}
    async with client_of(build({"server": {"dialect": "graph"}, "accounts": [account]}, home=tmp_path)) as call:
        sent = await call.ok("send_email", **MAIL, user_id="sales@demo.example", confirm=True)
        assert sent["status"] == "sent"
        ((sender, request),) = MemoryTransport.submitted
        assert (sender, request.envelope.sender) == ("sales@demo.example", "sales@demo.example")


async def test_its_log_line_has_the_named_fields_and_nothing_personal(graph, caplog):
    caplog.set_level(logging.DEBUG)
    graph.provider.takes_all = True
    address, subject, body = PERSONAL
    mail = {"to": [address], "cc": [CAROL], "bcc": [ALICE], "subject": subject, "body": body, "importance": "high"}
    for confirm in (False, True):
        await graph.call.ok("send_email", **mail, confirm=confirm)
    await graph.call("send_email", **{**mail, "to": ["nicht-eine-email"]})
    lines = [line for line in log_lines(caplog) if line["event"] == "tool_call"]
    common = {"time", "level", "logger", "event"}
    assert {frozenset(set(line) - common) for line in lines} == {
        frozenset({"tool", "recipientCount", "bodyType", "importance", "status", "duration_ms"})
    }
    assert [line["status"] for line in lines] == ["ok", "ok", "INVALID_REQUEST"]
    assert (lines[0]["recipientCount"], lines[0]["bodyType"], lines[0]["importance"]) == (2, "text", "high")
    everything = json.dumps([vars(record) for record in caplog.records], default=str)
    assert [word for word in (*PERSONAL, CAROL, ALICE) if word in everything] == []


def test_the_server_is_built_in_this_dialect(tmp_path):
    account = {"name": "alice", "provider": "local", "address": ALICE}
    assert server_for(build({"server": {"dialect": "graph"}, "accounts": [account]}, home=tmp_path))
