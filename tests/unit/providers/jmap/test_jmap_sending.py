"""Submissions whose answer is lost, unreadable or a refusal: sent once or not at all, and never guessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.mails import mail, message_id
from tests.peers.jmap import ADDRESS, FakeJmap

from postroom.model.errors import InvalidRequest
from postroom.model.outcome import SubmitRequest, WireEnvelope

SET = "EmailSubmission/set"
RECIPIENTS = ("you@example.test", "blind@example.test")


def request(key: str = "one", **fields: Any) -> SubmitRequest:
    raw = mail(key, sender=ADDRESS, to=RECIPIENTS[0], days_ago=0, **fields)
    return SubmitRequest(WireEnvelope(ADDRESS, RECIPIENTS), raw, message_id(key), f"attempt-{key}")


async def staged(transport: Any, given: SubmitRequest) -> SubmitRequest:
    return replace(given, staged_ref=await transport.stage(given))


def replied(arguments: Any, name: str = SET) -> str:
    return json.dumps({"methodResponses": [[name, arguments, "0"]], "sessionState": "s1"})


async def test_a_submission_goes_to_the_approved_and_moves_to_sent_in_the_same_request(
    server: FakeJmap, transport: Any
) -> None:
    given = await staged(transport, request())
    outcome = await transport.submit(given)
    assert (outcome.state, outcome.accepted, outcome.warnings) == ("accepted", RECIPIENTS, ())
    assert [sent.recipients for sent in server.state.sent] == [RECIPIENTS]
    assert server.state.sent[0].raw == given.raw
    kept = server.state.emails[given.staged_ref]
    assert (kept["mailboxIds"], kept["keywords"]) == ({"mb-sent": True}, {"$seen": True})
    assert server.count("Email/set") == 0


async def test_a_sent_message_that_the_server_left_among_the_drafts_is_filed_all_the_same(
    server: FakeJmap, transport: Any
) -> None:
    server.state.files_what_it_sends = False
    given = await staged(transport, request())
    assert (await transport.submit(given)).warnings == ()
    assert server.state.emails[given.staged_ref]["mailboxIds"] == {"mb-sent": True}
    other = await staged(transport, request("two"))
    server.fail_next("POST", "Email/set", status=403)
    outcome = await transport.submit(other)
    assert (outcome.state, outcome.accepted) == ("accepted", RECIPIENTS)
    assert "Drafts" in outcome.warnings[0]


async def test_a_copy_that_is_not_wanted_is_not_kept(server: FakeJmap, transport: Any) -> None:
    given = await staged(transport, replace(request(), save_to_sent=False))
    outcome = await transport.submit(given)
    assert (outcome.state, outcome.warnings) == ("accepted", ())
    assert server.state.emails == {}


LOST: dict[str, Callable[[FakeJmap], None]] = {
    "cut": lambda server: server.cut_next("POST", SET, after_effect=True),
    "half a response": lambda server: server.truncate_next("POST", SET),
    "an error page": lambda server: server.html_next("POST", SET, after_effect=True),
    "503": lambda server: server.fail_next("POST", SET, status=503, after_effect=True),
    "no JSON": lambda server: server.answer_next("POST", SET, "ok", after_effect=True),
    "an empty object": lambda server: server.answer_next("POST", SET, "{}", after_effect=True),
    "neither created nor refused": lambda server: server.answer_next("POST", SET, replied({}), after_effect=True),
    "a failure that settles nothing": lambda server: server.answer_next(
        "POST", SET, replied({"notCreated": {"send": {"type": "smtpProtocolError"}}}), after_effect=True
    ),
    "serverFail": lambda server: server.answer_next(
        "POST", SET, replied({"type": "serverFail"}, "error"), after_effect=True
    ),
}


@pytest.mark.parametrize("way", LOST)
async def test_a_lost_answer_is_unknown_and_the_submission_itself_proves_that_it_left(
    server: FakeJmap, transport: Any, way: str
) -> None:
    given = await staged(transport, request())
    LOST[way](server)
    assert (await transport.submit(given)).state == "unknown"
    settled = await transport.reconcile(given)
    assert (settled.state, settled.accepted) == ("accepted", RECIPIENTS)
    assert len(server.state.sent) == 1


async def test_a_server_that_forgets_submissions_is_believed_by_the_copy_in_sent(
    server: FakeJmap, transport: Any
) -> None:
    given = await staged(transport, request())
    server.cut_next("POST", SET, after_effect=True)
    await transport.submit(given)
    server.state.submissions.clear()
    assert (await transport.reconcile(given)).state == "accepted"
    assert (await transport.reconcile(replace(given, staged_ref=""))).state == "accepted"


async def test_a_draft_that_is_still_there_proves_nothing(server: FakeJmap, transport: Any) -> None:
    """Its server may have handed it on and lost the connection before it could note that."""
    given = await staged(transport, request())
    server.cut_next("POST", SET)
    assert (await transport.submit(given)).state == "unknown"
    assert (await transport.reconcile(given)).state == "unknown"
    assert server.state.sent == []


@pytest.mark.parametrize(
    ("refusal", "state"),
    [
        ({"type": "forbiddenFrom"}, "rejected"),
        ({"type": "invalidEmail"}, "rejected"),
        ({"type": "noRecipients"}, "rejected"),
        ({"type": "tooManyRecipients", "maxRecipients": 1}, "rejected"),
        ({"type": "invalidRecipients", "invalidRecipients": [RECIPIENTS[1]]}, "rejected"),
        ({"type": "forbiddenToSend"}, "retryable"),
        ({"type": "forbiddenToSend", "description": "4.2.1 later, Sir"}, "retryable"),
        ({"type": "forbiddenToSend", "description": "5.7.1 never, Sir"}, "rejected"),
        ({"type": "rateLimit"}, "retryable"),
        ({"type": "somethingElse"}, "unknown"),
        ({}, "unknown"),
        (None, "unknown"),
        ("no", "unknown"),
    ],
)
async def test_only_a_refusal_that_is_certain_counts_as_one(
    server: FakeJmap, transport: Any, refusal: Any, state: str
) -> None:
    given = await staged(transport, request())
    server.answer_next("POST", SET, replied({"created": None, "notCreated": {"send": refusal}}))
    outcome = await transport.submit(given)
    assert outcome.state == state
    assert "Sir" not in outcome.reason
    if isinstance(refusal, dict) and ("maxRecipients" in refusal or "invalidRecipients" in refusal):
        assert set(outcome.refused) == {RECIPIENTS[1]}
    assert given.staged_ref in server.state.emails


@pytest.mark.parametrize(
    ("status", "state", "login_refused"),
    [(401, "retryable", True), (403, "rejected", False), (429, "retryable", False)],
)
async def test_a_request_that_was_turned_away_was_not_sent(
    server: FakeJmap, transport: Any, status: int, state: str, login_refused: bool
) -> None:
    given = await staged(transport, request())
    server.fail_next("POST", SET, status=status, times=2)
    outcome = await transport.submit(given)
    assert (outcome.state, outcome.login_refused) == (state, login_refused)
    assert server.state.sent == []


async def test_a_submission_of_somebody_else_in_between_is_noticed_and_the_request_repeated(
    server: FakeJmap, transport: Any
) -> None:
    given = await staged(transport, request())
    server.answer_next("POST", SET, replied({"type": "stateMismatch"}, "error"))
    assert (await transport.submit(given)).state == "accepted"
    assert len(server.state.sent) == 1
    other = await staged(transport, request("two"))
    server.answer_next("POST", SET, replied({"type": "stateMismatch"}, "error"), times=3)
    assert (await transport.submit(other)).state == "retryable"
    assert len(server.state.sent) == 1


async def test_what_somebody_else_has_sent_or_deleted_is_not_submitted(server: FakeJmap, transport: Any) -> None:
    given = await staged(transport, request())
    assert (await transport.submit(given)).state == "accepted"
    assert (await transport.submit(given)).state == "unknown"
    gone = await staged(transport, request("two"))
    await transport.discard_staged(gone.staged_ref)
    assert (await transport.submit(gone)).state == "unknown"
    assert len(server.state.sent) == 1


async def test_a_sender_without_an_identity_is_rejected_before_anything_is_submitted(
    server: FakeJmap, transport: Any
) -> None:
    given = await staged(transport, request())
    stranger = replace(given, envelope=WireEnvelope("other@example.test", RECIPIENTS))
    assert (await transport.submit(stranger)).state == "rejected"
    assert server.count(SET) == 0


async def test_a_message_that_still_names_blind_copies_is_not_even_staged(server: FakeJmap, transport: Any) -> None:
    with pytest.raises(InvalidRequest, match="Bcc"):
        await transport.stage(request(bcc="blind@example.test"))
    assert server.state.emails == {}


async def test_a_draft_that_somebody_saved_is_not_taken_for_a_staged_copy(
    server: FakeJmap, transport: Any, mailbox: Any
) -> None:
    given = request()
    await mailbox.create_draft(given.raw)
    assert await transport.find_staged(given) == ""


async def test_what_changes_while_it_is_discarded_is_looked_at_again(server: FakeJmap, transport: Any) -> None:
    given = await staged(transport, request())
    server.answer_next("POST", "Email/set", replied({"type": "stateMismatch"}, "error"))
    await transport.discard_staged(given.staged_ref)
    assert server.state.emails == {}
