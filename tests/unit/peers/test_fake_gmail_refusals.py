"""Whom the fake Gmail lets in, what it costs, and what does not fit Google's discovery document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from tests.peers.gmail import FakeGmail, discovery
from tests.peers.gmail.caller import Caller, encoded, refusal, written
from tests.peers.gmail.handlers import HANDLERS
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.methods import COMPOSE, FULL, LABELS, METADATA, METHODS, MODIFY, READONLY, SEND, SETTINGS

BOB = "bob@gmail.example"

needs_document = pytest.mark.skipif(discovery.load() is None, reason="Google's discovery document is not here")


def test_without_a_token_nobody_is_let_in(gmail: FakeGmail, alice: Mailbox) -> None:
    answer = httpx2.get(f"{gmail.url}/gmail/v1/users/me/profile", verify=False)
    assert refusal(answer)[:2] == (401, "required")
    assert answer.json()["error"]["status"] == "UNAUTHENTICATED"


@pytest.mark.parametrize("kind", ["unknown", "expired", "revoked"])
def test_a_token_that_is_no_longer_good_is_refused(gmail: FakeGmail, alice: Mailbox, kind: str) -> None:
    token = {"unknown": "ya29.x", "expired": gmail.token(alice, lifetime=0), "revoked": gmail.token(alice)}[kind]
    gmail.tokens.revoke(token)
    with Caller(gmail, alice, token) as caller:
        answer = caller.ask("GET", "profile")
    assert refusal(answer)[:2] == (401, "authError")
    (inner,) = answer.json()["error"]["errors"]
    assert (inner["location"], inner["locationType"]) == ("Authorization", "header")


def test_a_token_opens_its_own_mailbox_only(gmail: FakeGmail, alice: Mailbox, bob: Mailbox) -> None:
    with Caller(gmail, alice, name=bob.address) as other:
        assert refusal(other.ask("GET", "profile")) == (403, "forbidden", "Delegation denied for alice@gmail.example")
    with Caller(gmail, alice, name="Alice@gmail.example") as own:
        assert own.get("profile")["emailAddress"] == alice.address


@pytest.mark.parametrize(
    ("scope", "method", "path", "is_enough"),
    [
        (READONLY, "GET", "messages", True),
        (READONLY, "POST", "messages/send", False),
        (SEND, "GET", "messages", False),
        (SEND, "POST", "drafts", False),
        (COMPOSE, "GET", "drafts", True),
        (LABELS, "GET", "labels", True),
        (LABELS, "GET", "messages", False),
        (MODIFY, "DELETE", "messages/19a0000000000001", False),
        (FULL, "POST", "settings/filters", False),
        (SETTINGS, "GET", "settings/filters", True),
    ],
)
def test_each_method_needs_one_of_its_scopes(
    gmail: FakeGmail, alice: Mailbox, scope: str, method: str, path: str, is_enough: bool
) -> None:
    with Caller(gmail, alice, gmail.token(alice, {scope})) as caller:
        answer = caller.ask(method, path)
    assert answer.is_success is is_enough
    if not is_enough:
        assert refusal(answer)[:2] == (403, "insufficientPermissions")


def test_the_metadata_scope_takes_away_search_and_bodies_whatever_stands_beside_it(
    gmail: FakeGmail, alice: Mailbox
) -> None:
    stored = gmail.deliver(alice, written(Subject="x"))
    with Caller(gmail, alice, gmail.token(alice, {METADATA, READONLY})) as caller:
        assert caller.ids() == [stored.id]
        assert refusal(caller.ask("GET", "messages", q="x"))[2] == "Metadata scope does not support 'q' parameter"
        told = refusal(caller.ask("GET", f"messages/{stored.id}"))
        assert told == (403, "forbidden", "Metadata scope doesn't allow format FULL")
        assert caller.get(f"messages/{stored.id}", format="metadata")["payload"]["headers"]


def test_units_are_counted_and_refused_beyond_the_limit_until_a_minute_has_passed(
    alice: Mailbox, gmail: FakeGmail
) -> None:
    now = 1_800_000_000.0
    gmail.quota.clock = lambda: now
    gmail.quota.per_user_per_minute = 110
    raw = {"raw": encoded(written(To=BOB, Subject="x"))}
    with Caller(gmail, alice) as caller:
        caller.post("messages/send", raw)
        caller.get("messages")
        assert gmail.units(alice) == 105
        told = caller.ask("POST", "messages/send", raw)
        assert refusal(told)[:2] == (403, "rateLimitExceeded")
        assert told.json()["error"]["errors"][0]["domain"] == "usageLimits"
        assert len(gmail.sent) == 1
        gmail.quota.user_refusal = (429, "userRateLimitExceeded")
        assert refusal(caller.ask("POST", "messages/send", raw))[:2] == (429, "userRateLimitExceeded")
        now += 60
        caller.post("messages/send", raw)
        gmail.quota.per_user_per_day = 200
        assert refusal(caller.ask("GET", "messages"))[:2] == (403, "dailyLimitExceeded")
    assert gmail.units(alice) == 205


def test_the_limit_of_one_user_is_not_that_of_another(gmail: FakeGmail, alice: Mailbox, bob: Mailbox) -> None:
    gmail.quota.per_user_per_minute = 1
    with Caller(gmail, alice) as one, Caller(gmail, bob) as other:
        one.get("profile")
        assert one.ask("GET", "profile").status_code == 403
        other.get("profile")
        gmail.quota.per_user_per_minute, gmail.quota.per_project_per_minute = None, 2
        assert refusal(other.ask("GET", "profile"))[:2] == (429, "rateLimitExceeded")


def test_every_method_has_a_handler_and_a_price() -> None:
    assert set(HANDLERS) == set(METHODS)
    assert all(method.units > 0 for method in METHODS.values())


@pytest.mark.parametrize(
    "path", ["/gmail/v1/users/me/nothing", "/gmail/v2/users/me/profile", "/", "/upload/gmail/v1/users/me/labels"]
)
def test_an_unknown_path_is_a_page_that_says_so(gmail: FakeGmail, path: str) -> None:
    answer = httpx2.post(gmail.url + path, verify=False)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


@needs_document
@pytest.mark.parametrize(
    ("method", "path", "body", "params", "words"),
    [
        ("GET", "messages", None, {"maxResult": "1"}, 'Unknown name "maxResult"'),
        ("GET", "messages", None, {"maxResults": "many"}, "Invalid value at 'max_results' (TYPE_UINT32)"),
        ("GET", "messages", None, {"includeSpamTrash": "yes"}, "Invalid value at 'include_spam_trash' (TYPE_BOOLEAN)"),
        ("GET", "messages/19a0", None, {"format": "short"}, "Invalid value at 'format'"),
        ("GET", "history", None, {"startHistoryId": str(2**64)}, "Invalid value at 'start_history_id' (TYPE_UINT64)"),
        ("GET", "messages", None, [("q", "a"), ("q", "b")], "not repeated"),
        ("POST", "messages/send", {"raw": "eA", "subject": "x"}, {}, 'Unknown name "subject"'),
        ("POST", "drafts", {"message": {"rawe": "x"}}, {}, "Unknown name \"rawe\" at 'message'"),
        ("POST", "labels", {"name": 7}, {}, "Invalid value at 'name' (TYPE_STRING), 7"),
        (
            "POST",
            "labels",
            {"name": "x", "labelListVisibility": "maybe"},
            {},
            "Invalid value at 'label_list_visibility'",
        ),
        ("POST", "messages/batchModify", {"ids": "19a0"}, {}, "Invalid value at 'ids'"),
    ],
)
def test_a_request_that_does_not_fit_the_document_is_refused(
    caller: Caller, method: str, path: str, body: Any, params: Any, words: str
) -> None:
    answer = caller.http.request(method, f"/gmail/v1/users/me/{path}", json=body, params=params)
    status, reason, message = refusal(answer)
    assert (status, reason) == (400, "invalid")
    assert words.replace("TYPE_BOOLEAN", "TYPE_BOOL") in message


def test_null_is_a_field_that_is_not_there(gmail: FakeGmail, caller: Caller) -> None:
    caller.post("messages/send", {"raw": encoded(written(To=BOB, Subject="x")), "threadId": None, "labelIds": None})
    assert len(gmail.sent) == 1


def test_a_body_that_is_no_json_object_is_refused(caller: Caller) -> None:
    for body in (b"{", b"[1]", b'"x"'):
        answer = caller.http.post("/gmail/v1/users/me/labels", content=body)
        assert refusal(answer)[0] == 400


@needs_document
@pytest.mark.parametrize(
    "spoil",
    [
        lambda value: value | {"unknown": 1},
        lambda value: value | {"historyId": 7},
        lambda value: value | {"historyId": "-7"},
        lambda value: value | {"messagesTotal": "1"},
        lambda value: [],
    ],
)
def test_an_answer_that_does_not_fit_the_document_fails_the_test(
    spoil: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = HANDLERS["getProfile"]
    monkeypatch.setitem(HANDLERS, "getProfile", lambda call: spoil(honest(call)))

    def test() -> None:
        with FakeGmail.started() as gmail, Caller(gmail, gmail.user("a@x.example")) as caller:
            assert caller.ask("GET", "profile").status_code == 500

    with pytest.raises(AssertionError, match="discovery document does not allow"):
        test()


def test_without_the_document_the_fake_works_and_checks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "load", lambda: None)
    with FakeGmail.started() as gmail:
        alice = gmail.user("alice@gmail.example")
        stored = gmail.deliver(alice, written(Subject="x"))
        with Caller(gmail, alice) as caller:
            assert caller.ids(unknown="1") == [stored.id]
            assert refusal(caller.ask("GET", "messages", maxResults="many"))[0] == 400
