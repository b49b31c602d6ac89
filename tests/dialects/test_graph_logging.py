"""The log lines of the graph dialect, whatever becomes of a call: exactly the contract's fields, and nobody's name."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from tests.dialects.graph_desk import PLAIN, log_lines
from tests.dialects.graph_office import NUMBERS, SCOPES, Office, office
from tests.peers.graph.caller import quoted

ENVELOPE = {"time", "level", "logger", "event"}
FIELDS = {
    "send_email": {"tool", "recipientCount", "bodyType", "importance", "status", "duration_ms"},
    "reply_email": {"tool", "replyAll", "status", "duration_ms"},
    "forward_email": {"tool", "recipientCount", "hasComment", "status", "duration_ms"},
}
REQUEST = {"tool", "method", "endpoint", "status", "duration_ms", "recipientCount"}
ENDPOINTS = {
    "send_email": "/sendMail",
    "reply_email": "/messages/{id}/replyAll",
    "forward_email": "/messages/{id}/forward",
}
SUBJECT, TEXT = "Geheimer Betreff", "Vertraulicher Text"
# How a confirmed call ends when Graph answers so: the status of the call, and that of the request.
REFUSALS = {
    400: ("ErrorInvalidRecipients", "INVALID_REQUEST", 400),
    403: ("ErrorAccessDenied", "PERMISSION_DENIED", 403),
    404: ("ErrorItemNotFound", "NOT_FOUND", 404),
    413: ("", "INVALID_REQUEST", 413),
    429: ("", "RATE_LIMIT_EXCEEDED", 429),
    503: ("", "ok", 503),
}


def arguments(at: Office, tool: str, message_id: str) -> dict[str, Any]:
    return {
        "send_email": {"to": [at.you.address], "cc": ["carol@demo.example"], "subject": SUBJECT, "body": TEXT},
        "reply_email": {"message_id": message_id, "comment": TEXT, "reply_all": True},
        "forward_email": {"message_id": message_id, "to": [at.you.address], "comment": TEXT},
    }[tool]


def check(caplog: pytest.LogCaptureFixture, at: Office, tool: str, message_id: str) -> tuple[list[Any], list[Any]]:
    """The statuses of the calls and of the requests, in whose lines nothing is that should not be."""
    lines = log_lines(caplog)
    calls = [line for line in lines if line["event"] == "tool_call"]
    requests = [line for line in lines if line["event"] == "provider_request"]
    assert all(set(line) - ENVELOPE == FIELDS[tool] for line in calls)
    assert all(set(line) - ENVELOPE == REQUEST for line in requests)
    personal = (at.me.address, at.you.address, "carol@demo.example", SUBJECT, TEXT, message_id, quoted(message_id))
    assert [word for word in personal if word in json.dumps(lines, ensure_ascii=False)] == []
    return [line["status"] for line in calls], [line["status"] for line in requests]


@pytest.fixture
def letter(at: Office) -> str:
    return at.letter(PLAIN.replace("Besprechung", SUBJECT).replace("Passt Ihnen Montag?", TEXT))


@pytest.mark.parametrize("tool", FIELDS)
async def test_preview_sending_repetition_and_bad_input_are_lines_with_the_named_fields(at, letter, caplog, tool):
    caplog.set_level(logging.DEBUG)
    given = {**arguments(at, tool, letter), "idempotency_key": "k1"}
    for confirm in (False, True, True):
        await at.call.ok(tool, **given, confirm=confirm)
    await at.call.error(tool, **{**given, "message_id" if tool == "reply_email" else "to": []})
    calls, requests = check(caplog, at, tool, letter)
    assert (calls, requests) == (["ok", "ok", "ok", "INVALID_REQUEST"], [202])
    (line,) = [line for line in log_lines(caplog) if line["event"] == "provider_request"]
    assert (line["tool"], line["method"], line["endpoint"]) == (tool, "POST", f"/me{ENDPOINTS[tool]}")
    assert line["recipientCount"] == (1 if tool == "forward_email" else 2)


@pytest.mark.parametrize("status", REFUSALS)
@pytest.mark.parametrize("tool", FIELDS)
async def test_a_refusal_is_a_line_with_the_named_fields_and_its_status(at, letter, caplog, tool, status):
    caplog.set_level(logging.DEBUG)
    reason, call_status, request_status = REFUSALS[status]
    at.graph.fail_next(
        "POST", f"/v1.0/me{ENDPOINTS[tool].replace('{id}', '*')}", status=status, reason=reason, message=TEXT
    )
    await at.call(tool, **arguments(at, tool, letter), confirm=True)
    assert check(caplog, at, tool, letter) == ([call_status], [request_status])


@pytest.mark.parametrize("tool", FIELDS)
async def test_an_answer_that_was_lost_is_a_line_with_the_named_fields_too(at, letter, caplog, tool):
    caplog.set_level(logging.DEBUG)
    at.graph.cut_next("POST", f"/v1.0/me{ENDPOINTS[tool].replace('{id}', '*')}", after_effect=True)
    await at.call(tool, **arguments(at, tool, letter), confirm=True)
    assert check(caplog, at, tool, letter) == (["ok"], ["PROVIDER_ERROR"])


async def test_whose_mailbox_it_is_stays_out_of_the_endpoint(at, caplog):
    caplog.set_level(logging.DEBUG)
    shared = at.graph.user(f"sales{next(NUMBERS)}@contoso.example")
    shared.delegates.add(at.me.address)
    await at.sent("send_email", **at.mail, user_id=shared.address)
    (line,) = [line for line in log_lines(caplog) if line["event"] == "provider_request"]
    assert line["endpoint"] == "/users/{user_id}/sendMail"
    assert shared.address not in json.dumps(log_lines(caplog))


async def test_a_login_without_the_right_is_logged_without_a_name(microsoft, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    async with office(microsoft, tmp_path, SCOPES - {"Mail.Send"}) as at:
        await at.refusal("send_email", **arguments(at, "send_email", ""))
        assert check(caplog, at, "send_email", "no id") == (["PERMISSION_DENIED"], [403])
