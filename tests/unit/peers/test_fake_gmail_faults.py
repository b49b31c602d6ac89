"""The fake Gmail fails when it is told to, in the way it is told, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import httpx2
import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import Caller, encoded, refusal, written
from tests.peers.gmail.mailbox import Mailbox

BOB = "bob@gmail.example"
MAIL = {"raw": encoded(written(To=BOB, Subject="x"))}


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        (401, "", "authError"),
        (403, "insufficientPermissions", "insufficientPermissions"),
        (403, "userRateLimitExceeded", "userRateLimitExceeded"),
        (404, "", "notFound"),
        (413, "", "uploadTooLarge"),
        (429, "", "rateLimitExceeded"),
        (500, "", "backendError"),
        (503, "", "backendError"),
    ],
)
def test_a_status_and_a_reason_are_given_as_often_as_asked(
    gmail: FakeGmail, caller: Caller, status: int, reason: str, expected: str
) -> None:
    gmail.fail_next("GET", "labels.list", status=status, reason=reason, retry_after=7, times=2)
    for _ in range(2):
        answer = caller.ask("GET", "labels")
        assert refusal(answer)[:2] == (status, expected)
        assert answer.headers["retry-after"] == "7"
    assert caller.get("labels")["labels"]
    assert gmail.pending_faults == 0


def test_a_fault_waits_for_its_method_and_operation(gmail: FakeGmail, caller: Caller) -> None:
    gmail.fail_next("POST", "messages.send", status=503)
    gmail.fail_next("*", "/gmail/v1/users/me/dra*", status=500)
    caller.get("messages")
    assert caller.ask("GET", "drafts").status_code == 500
    assert caller.ask("POST", "messages/send", MAIL).status_code == 503
    assert gmail.sent == []


def test_an_error_after_the_effect_hides_that_it_was_sent(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    draft = caller.post("drafts", {"message": MAIL})
    gmail.fail_next("POST", "drafts.send", status=503, after_effect=True)
    assert caller.ask("POST", "drafts/send", {"id": draft["id"]}).status_code == 503
    assert len(gmail.sent) == 1
    assert alice.drafts == {}


@pytest.mark.parametrize("after_effect", [False, True])
def test_a_connection_is_cut_before_or_after_the_effect(gmail: FakeGmail, caller: Caller, after_effect: bool) -> None:
    gmail.cut_next("POST", "messages.send", after_effect=after_effect)
    with pytest.raises(httpx2.TransportError):
        caller.post("messages/send", MAIL)
    assert len(gmail.sent) == int(after_effect)
    assert gmail.requests[-1].status == 0
    caller.post("messages/send", MAIL)


def test_an_answer_is_cut_in_the_middle(gmail: FakeGmail, caller: Caller) -> None:
    gmail.truncate_next("POST", "messages.send")
    with pytest.raises(httpx2.RemoteProtocolError):
        caller.post("messages/send", MAIL)
    assert len(gmail.sent) == 1


def test_answers_may_be_pages_broken_json_and_success_with_an_error_inside(gmail: FakeGmail, caller: Caller) -> None:
    gmail.html_next("GET", "*", status=502)
    gmail.answer_next("GET", "*", b'{"messages": [')
    gmail.answer_next("GET", "*", '{"error": {"code": 500, "message": "no"}}')
    page, broken, inside = (caller.ask("GET", "messages") for _ in range(3))
    assert page.status_code == 502
    assert page.headers["content-type"] == "text/html; charset=UTF-8"
    with pytest.raises(json.JSONDecodeError):
        broken.json()
    assert (inside.status_code, inside.json()["error"]["code"]) == (200, 500)


def test_an_answer_waits_until_it_is_released_and_others_overtake_it(
    gmail: FakeGmail, alice: Mailbox, caller: Caller
) -> None:
    hold = gmail.hold_next("POST", "messages.send", after_effect=True)
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(caller.ask("POST", "messages/send", MAIL).status_code))
    waiting.start()
    assert hold.reached.wait(20)
    assert len(gmail.sent) == 1
    with Caller(gmail, alice) as other:
        assert len(other.ids()) == 1
    assert answers == []
    hold.release()
    waiting.join(20)
    assert answers == [200]


def test_too_many_requests_at_once_are_refused(gmail: FakeGmail, alice: Mailbox) -> None:
    gmail.quota.at_once = 1
    with Caller(gmail, alice, gmail.token(alice)) as caller:
        hold = gmail.hold_next("GET", "messages.list", after_effect=True)
        waiting = threading.Thread(target=lambda: caller.ask("GET", "messages"))
        waiting.start()
        assert hold.reached.wait(20)
        told = refusal(caller.ask("GET", "profile"))
        assert told == (429, "rateLimitExceeded", "Too many concurrent requests for user")
        hold.release()
        waiting.join(20)
        caller.get("profile")


def _ask_in_vain(caller: Caller) -> None:
    with suppress(httpx2.TransportError):
        caller.ask("GET", "profile")


def test_a_hold_that_nobody_releases_ends_with_the_fake() -> None:
    with FakeGmail.started() as gmail:
        alice = gmail.user("alice@gmail.example")
        caller = Caller(gmail, alice)
        hold = gmail.hold_next("GET", "getProfile")
        waiting = threading.Thread(target=_ask_in_vain, args=(caller,))
        waiting.start()
        assert hold.reached.wait(20)
    waiting.join(20)
    assert not waiting.is_alive()


def test_every_request_is_recorded_with_its_price_and_its_bytes(
    gmail: FakeGmail, alice: Mailbox, caller: Caller
) -> None:
    caller.get("messages", q="from:x", maxResults=5)
    caller.post("messages/send", MAIL)
    listed, sent = gmail.requests
    assert (listed.method, listed.path, listed.operation) == ("GET", "/gmail/v1/users/me/messages", "messages.list")
    assert listed.params == [("q", "from:x"), ("maxResults", "5")]
    assert (listed.units, listed.user, listed.status) == (5, alice.address, 200)
    assert (sent.units, sent.received) == (100, len(json.dumps(MAIL, separators=(",", ":"))))
    assert listed.sent > 0
    assert "authorization" not in listed.headers
    assert gmail.count("messages.send") == 1
    gmail.forget()
    assert gmail.units(alice) == 0


def test_a_mistake_of_the_fake_itself_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    def test() -> None:
        with FakeGmail.started() as gmail:
            alice = gmail.user("alice@gmail.example")
            monkeypatch.delattr(alice, "history")
            with Caller(gmail, alice) as caller:
                assert caller.ask("GET", "profile").status_code == 500

    with pytest.raises(AssertionError, match="AttributeError"):
        test()
