"""The vault dialect, line by line: its error taxonomy. `docs/contracts/vault.md` maps it to tests."""

from __future__ import annotations

import math

import pytest
from tests.dialects.vault_rig import Peers, desk_on, letter, on_imap, on_local
from tests.peers.gmail import FakeGmail

from postroom.doors.mcp.dialects import vault
from postroom.model.errors import (
    AuthRequired,
    InternalError,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from postroom.model.outcome import SubmitOutcome
from postroom.providers.layers import retry
from postroom.providers.local.provider import LocalMailbox
from postroom.providers.local.transport import LocalTransport
from postroom.store.sends.rate import RateLimit, RateStatus, _limited

LEADS = {
    "search_email": "Error searching emails: ",
    "draft_email": "Error creating draft: ",
    "send_email": "Error sending email: ",
    "reply_email": "Error replying to thread: ",
}
FOR_GOOD = [
    AuthRequired("Account alice was logged out. Log in again: postroom accounts login alice"),
    PermissionDenied("The login does not include sending."),
    ProviderError("The mailbox is full."),
    InternalError("Something went wrong."),
]


def sentence(error: PostroomError, tool: str) -> str:
    result = vault.failure(error, tool)
    assert result.is_error
    (block,) = result.content
    return block.text


@pytest.mark.parametrize("error", FOR_GOOD, ids=lambda error: error.code)
@pytest.mark.parametrize("tool", LEADS)
def test_an_error_of_the_provider_is_told_under_the_tools_own_sentence(error, tool):
    assert sentence(error, tool) == f"{LEADS[tool]}{error.message}"


@pytest.mark.parametrize("tool", LEADS)
async def test_a_login_that_was_revoked_names_the_way_to_log_in_again(dovecot, postfix, tmp_path, tool):
    accounts = on_imap(dovecot, postfix).accounts[:1]
    async with desk_on(Peers([{**accounts[0], "password": "changed meanwhile"}]), tmp_path) as desk:
        desk.approve(to="bob@demo.example")
        desk.approve("email_reply", "re.md", thread_id="t")
        mail = {"to": "bob@demo.example", "subject": "x", "body": "y"}
        arguments = {
            "search_email": {"query": "x"},
            "reply_email": {"thread_id": "t", "message_id": "INBOX|1|1", "body": "y"},
        }
        text = await desk(tool, **arguments.get(tool, mail))
        assert desk.failed
        assert text.startswith(LEADS[tool])
        assert "password" in text
        assert "changed meanwhile" not in text
        assert desk.in_vault("Approved") == ["go.md", "re.md"]
        assert desk.audit()[-1][::3] == (tool, "AUTH_REQUIRED")


async def test_a_login_that_is_revoked_during_the_session_is_an_error_and_nothing_waits(tmp_path):
    with FakeGmail.started() as gmail:
        alice = gmail.user("alice@gmail.example", "Alice")
        account = {"name": "alice", "provider": "gmail", "address": alice.address, "base_url": gmail.url}
        async with desk_on(Peers([{**account, "token": gmail.token(alice)}]), tmp_path) as desk:
            assert (await desk("search_email", query="x")).startswith("No emails found")
            desk.approve(to="bob@gmail.example")
            for _ in range(2):
                gmail.fail_next("*", "*", status=401, times=20)
                text = await desk("send_email", to="bob@gmail.example", subject="x", body="y")
                gmail.forget_faults()
                assert desk.failed
                assert text.startswith("Error sending email: ")
                assert "postroom accounts login alice" in text
                assert desk.in_vault("Approved") == ["go.md"]
                assert desk.audit()[-1][::3] == ("send_email", "AUTH_REQUIRED")
            assert (gmail.sent, alice.labelled("DRAFT")) == ([], [])


@pytest.mark.parametrize(
    "error",
    [RateLimited("Too many requests.", reason="provider_limit"), ProviderUnavailable("503")],
    ids=["429", "503"],
)
async def test_what_passes_is_retried_three_times_and_then_told(tmp_path, monkeypatch, error):
    real, failures = LocalMailbox.search, iter(())
    calls = []

    async def flaky(self, *args, **kwargs):
        calls.append(args)
        for problem in failures:
            raise problem
        return await real(self, *args, **kwargs)

    async def at_once(_):
        pass

    monkeypatch.setattr(LocalMailbox, "search", flaky)
    monkeypatch.setattr(retry.Retry, "__init__", _with_sleep(retry.Retry.__init__, at_once))
    async with desk_on(on_local(), tmp_path) as desk:
        await desk.put(letter())
        failures = iter([type(error)(error.message) for _ in range(3)])
        assert (await desk("search_email", query="offer")).startswith("Found 1 emails")
        assert len(calls) == 4
        failures = iter([type(error)(error.message) for _ in range(4)])
        assert await desk("search_email", query="offer") == f"Error searching emails: {error.message}"
        assert len(calls) == 8


def _with_sleep(init, sleep):
    def wrapped(self, **fields):
        init(self, **{**fields, "sleep": sleep})

    return wrapped


async def test_after_a_server_error_a_send_is_never_simply_repeated(tmp_path, monkeypatch):
    """A 500 or 503 may come after the message was taken: Postroom looks, and says what it knows."""
    submitted = []

    async def lost(self, request):
        submitted.append(request)
        raise ProviderUnavailable("503 after the end of the data")

    async def cannot_tell(self, request):
        return SubmitOutcome("unknown", reason="No copy was found.")

    monkeypatch.setattr(LocalTransport, "submit", lost)
    monkeypatch.setattr(LocalTransport, "reconcile", cannot_tell)
    async with desk_on(on_local(), tmp_path) as desk:
        for name in ("one.md", "two.md"):
            desk.approve(name=name, to="bob@demo.example")
        for _ in range(2):
            text = await desk("send_email", to="bob@demo.example", subject="x", body="y")
            assert desk.failed
            assert text.startswith("Error sending email: It is not known whether the provider accepted it. Do not send")
        assert len(submitted) == 1
        assert len(desk.in_vault("Done")) == 1, "what may have been sent has used its approval; the second call none"


async def test_a_submission_that_the_server_puts_off_is_retried_by_itself(tmp_path, monkeypatch):
    async def later(self, request):
        return SubmitOutcome("retryable", reason="451 later")

    monkeypatch.setattr(LocalTransport, "submit", later)
    async with desk_on(on_local(), tmp_path) as desk:
        desk.approve(to="bob@demo.example")
        text = await desk("send_email", to="bob@demo.example", subject="x", body="y")
        assert text == "Not sent yet: it is in the outbox and will be sent automatically. Do not send it again."
        (row,) = desk.gateway.store.outbox.list(limit=10).items
        assert row.state == "retryable"
        assert desk.in_vault("Done") == ["go.md"]


@pytest.mark.parametrize(("seconds", "minutes"), [(1, 1), (59.5, 1), (60, 1), (61, 2), (720, 12), (3599.9, 60)])
def test_the_wait_is_told_in_whole_minutes(seconds, minutes):
    error = _limited("alice", RateStatus(10, 10, math.floor(seconds) + 1), RateLimit(10))
    assert sentence(error, "send_email") == (
        f"Rejected: Rate limit exceeded (10 emails/hour). Next send available in {minutes} minutes."
    )


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_email", {}),
        ("search_email", {"query": "x", "limit": 3}),
        ("draft_email", {"to": "bob@demo.example"}),
        ("send_email", {"to": ["bob@demo.example"], "subject": "x", "body": "y"}),
        ("send_email", {"to": "bob@demo.example", "subject": "x", "body": "y", "bcc": "eve@demo.example"}),
        ("reply_email", {"thread_id": 4, "message_id": 5, "body": "y"}),
        ("reply_email", {"thread_id": "a\0", "message_id": "5", "body": "y"}),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_with_a_sentence(tmp_path, tool, arguments):
    async with desk_on(on_local(), tmp_path) as desk:
        desk.approve(to="bob@demo.example")
        text = await desk(tool, **arguments)
        assert desk.failed
        assert text.startswith(LEADS[tool] if tool == "search_email" else "Error: ")
        assert desk.in_vault("Approved") == ["go.md"]
        ((*entry, target, code),) = desk.audit()
        assert (*entry, code) == (tool, "error", "INVALID_REQUEST")
        assert target in ("", "b***@demo.example")


async def test_a_bug_of_ours_is_told_without_a_trace_or_content(tmp_path, monkeypatch):
    async def broken(self, *_args, **_kwargs):
        raise ZeroDivisionError("secret text of a message")

    monkeypatch.setattr(LocalMailbox, "search", broken)
    async with desk_on(on_local(), tmp_path) as desk:
        text = await desk("search_email", query="offer")
        assert text.startswith("Error searching emails: Something went wrong inside Postroom (reference ")
        assert "secret" not in text
        assert desk.audit() == [("search_email", "error", "", "INTERNAL_ERROR")]
