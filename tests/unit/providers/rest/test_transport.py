"""A submission: exactly what was approved, once, and no more certain than the service is."""

from __future__ import annotations

import json
from dataclasses import replace
from email import message_from_bytes, policy
from typing import Any

import pytest
from tests.contract.mails import PDF, mail, message_id
from tests.unit.providers.rest.conftest import ME, YOU

from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.providers.rest.transport import RestTransport


def request(key: str = "one", *recipients: str, **fields: Any) -> SubmitRequest:
    raw = mail(key, sender=ME, **{"to": YOU, "days_ago": 0, **fields})
    return SubmitRequest(WireEnvelope(ME, recipients or (YOU,)), raw, message_id(key), f"attempt-{key}")


def arrived(api: Any) -> list[Any]:
    with api.lock:
        return [message_from_bytes(raw, policy=policy.default) for raw in api.users[YOU].store.raw_mails("INBOX")]


async def test_what_is_sent_is_read_from_the_bytes(api: Any, transport: RestTransport) -> None:
    asked = request("whole", YOU, ME, cc=f"Me <{ME}>", text="Ünï\n\ncode", html="<p>Ünï</p>", files=[("ä.pdf", PDF)])
    outcome = await transport.submit(asked)
    assert (outcome.state, outcome.accepted, outcome.warnings) == ("accepted", (YOU, ME), ())
    (got,) = arrived(api)
    assert (got["to"], got["cc"], got["subject"]) == (YOU, ME, "Subject of whole")
    assert got.get_body(("plain",)).get_content() == "Ünï\n\ncode\n"
    assert got.get_body(("html",)).get_content() == "<p>Ünï</p>\n"
    assert [(part.get_filename(), part.get_content()) for part in got.iter_attachments()] == [("ä.pdf", PDF)]


@pytest.mark.parametrize(
    ("status", "state"),
    [(400, "rejected"), (403, "rejected"), (404, "rejected"), (409, "rejected"), (413, "rejected"), (422, "rejected"),
     (401, "retryable"), (429, "retryable"), (500, "unknown"), (502, "unknown"), (503, "unknown"), (504, "unknown")],
)  # fmt: skip
async def test_each_status_means_what_it_proves(api: Any, transport: RestTransport, status: int, state: str) -> None:
    api.fail_next("POST", "message.send", status=status, message="CANARY text", retry_after=7, times=5)
    outcome = await transport.submit(request())
    assert (outcome.state, outcome.login_refused) == (state, status == 401)
    assert outcome.retry_after == (7 if status == 429 else None)
    assert "CANARY" not in f"{outcome.reason} {outcome.refused} {outcome.error and outcome.error.details}"
    assert api.count("message.send") == 1
    assert arrived(api) == []


@pytest.mark.parametrize(
    "body",
    ["", "{broken", "[]", "<!DOCTYPE html><html>ok</html>", '{"status": "failed"}', '{"error": "disk full"}',
     '{"status": {"x": 1}, "error": 1}', "{}", '{"message": "over quota"}', '{"id": "m1", "success": false}',
     '{"id": "m1", "ok": false}', '{"id": "m1", "errors": ["disk full"]}', '{"status": {"x": 1}}'],
)  # fmt: skip
async def test_a_success_that_does_not_say_so_is_not_taken_for_one(
    api: Any, transport: RestTransport, body: str
) -> None:
    api.answer_next("POST", "message.send", body)
    outcome = await transport.submit(request())
    assert outcome.state == "unknown"
    assert api.count("message.send") == 1


@pytest.mark.parametrize(
    "body", [{"id": "m1", "status": "queued"}, {"message_id": "m1", "status": "Sent"}, {"id": "m1"}]
)
async def test_either_name_of_the_id_is_taken(api: Any, transport: RestTransport, body: dict[str, str]) -> None:
    api.answer_next("POST", "message.send", json.dumps(body))
    outcome = await transport.submit(request())
    assert (outcome.state, outcome.message_ref) == ("accepted", "m1")


@pytest.mark.parametrize("after_effect", [False, True])
async def test_a_cut_connection_is_unknown_and_never_tried_again(
    api: Any, transport: RestTransport, after_effect: bool
) -> None:
    api.cut_next("POST", "message.send", after_effect=after_effect)
    assert (await transport.submit(request())).state == "unknown"
    assert (await transport.reconcile(request())).state == ("accepted" if after_effect else "unknown")
    assert api.count("message.send") == 1
    assert len(arrived(api)) == int(after_effect)


async def test_a_request_that_is_too_large_is_refused_for_good(api: Any, transport: RestTransport) -> None:
    api.largest = 5_000
    outcome = await transport.submit(request(files=[("big.bin", bytes(10_000))]))
    assert outcome.state == "rejected"
    assert "large" in outcome.reason


async def test_only_recipients_that_the_refusal_names_are_refused(api: Any, transport: RestTransport) -> None:
    api.fail_next("POST", "message.send", status=422, message=f"Rejected: <{YOU.upper()}>. Not stranger@x.example.")
    outcome = await transport.submit(request("two", YOU, ME))
    assert set(outcome.refused) == {YOU}
    assert outcome.error is not None
    assert "x.example" not in str(outcome.error.details)


async def test_someone_whom_the_message_names_but_who_was_not_approved_stops_it(
    api: Any, transport: RestTransport
) -> None:
    outcome = await transport.submit(request("more", YOU, cc=ME))
    assert outcome.state == "rejected"
    assert api.count("message.send") == 0


@pytest.mark.parametrize("header", ["Reply-To: x@demo.example", "Importance: high", "X-Priority: 1"])
async def test_what_the_api_cannot_carry_is_refused_and_not_left_out(
    api: Any, transport: RestTransport, header: str
) -> None:
    asked = request()
    outcome = await transport.submit(replace(asked, raw=header.encode() + b"\r\n" + asked.raw))
    assert outcome.state == "rejected"
    assert "cannot send" in outcome.reason
    assert api.count("message.send") == 0


async def test_a_reply_and_a_copy_that_was_not_wanted_are_said_to_be_what_they_are(
    api: Any, transport: RestTransport
) -> None:
    outcome = await transport.submit(replace(request(answers=["root"]), save_to_sent=False))
    assert outcome.state == "accepted"
    assert len(outcome.warnings) == 2


@pytest.mark.parametrize(
    "other",
    [{"text": "Other words."}, {"subject": "Other"}, {"to": ME}, {"cc": ME}, {"html": "<p>Hello.</p>"},
     {"files": [("a.bin", b"x")]}],
)  # fmt: skip
async def test_a_sent_message_that_differs_proves_nothing(
    api: Any, transport: RestTransport, other: dict[str, Any]
) -> None:
    everyone = (YOU, ME)
    await transport.submit(request("other", *everyone, **other))
    assert (await transport.reconcile(request("one", *everyone))).state == "unknown"


async def test_an_earlier_message_with_the_same_words_proves_nothing(api: Any, transport: RestTransport) -> None:
    assert (await transport.submit(request("first", subject="Same"))).state == "accepted"
    later = request("second", subject="Same", days_ago=-3650)  # written after the copy of the first was filed
    assert (await transport.reconcile(later)).state == "unknown"


async def test_a_copy_proves_one_attempt_only(api: Any, transport: RestTransport) -> None:
    first, second = request("first", subject="Same"), request("second", subject="Same")
    api.cut_next("POST", "message.send", after_effect=True)
    assert (await transport.submit(first)).state == "unknown"
    assert (await transport.reconcile(first)).state == "accepted"
    assert (await transport.reconcile(first)).state == "accepted"
    assert (await transport.reconcile(second)).state == "unknown"
