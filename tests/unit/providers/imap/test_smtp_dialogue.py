"""The SMTP conversation against a server that says exactly what the test puts into its mouth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.peers.raw_smtp import DOT, GREETING, RawSmtp, raw_smtp

from postroom.mime.write.compose import compose
from postroom.model.address import Address
from postroom.model.draft import Draft
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.providers.imap.session.auth import Credentials
from postroom.providers.imap.smtp import dialogue
from postroom.providers.imap.smtp.answers import Answer
from postroom.settings import ImapAccount

ME = "me@example.test"
RAW = b"From: me@example.test\r\nTo: a@x.example\r\nSubject: s\r\nMessage-ID: <one@example.test>\r\n\r\nHello.\r\n"


@pytest.fixture
def server() -> Iterator[RawSmtp]:
    with raw_smtp() as server:
        yield server


def account(server: RawSmtp, **changes: Any) -> ImapAccount:
    values: dict[str, Any] = {
        "name": "mine",
        "address": ME,
        "host": "localhost",
        "password": "pa55",
        "smtp_host": server.host,
        "smtp_port": server.port,
        "smtp_security": "none",
        "timeout": 2,
    }
    return ImapAccount(**(values | changes))


async def submitted(server: RawSmtp, *recipients: str, raw: bytes = RAW, **changes: Any) -> Answer:
    envelope = WireEnvelope(ME, recipients or ("a@x.example",))
    with anyio.fail_after(60):
        sender = account(server, **changes)
        request = SubmitRequest(envelope, raw, "<one>", "try")
        answer = await dialogue.submit(sender, request, Credentials(sender))
    await anyio.wait_all_tasks_blocked()  # a connection is closed in the loop's next rounds
    return answer


# The answer to the dot


@pytest.mark.parametrize(
    "answer", [b"250\r\n", b"250 ok\n", b"250-two\r\n250 lines\r\n", b"200 fine\r\n", b"251 fine\r\n"]
)
async def test_every_positive_answer_to_the_dot_is_an_acceptance(server: RawSmtp, answer: bytes) -> None:
    server.says[DOT] = answer
    assert (await submitted(server)).state == "accepted", "anything else would have it sent a second time"


@pytest.mark.parametrize("answer", [b"354 more\r\n", b"150 eh\r\n", b"25\r\n", b"no number\r\n", b"650 beyond\r\n"])
async def test_an_answer_to_the_dot_that_means_nothing_is_unknown(server: RawSmtp, answer: bytes) -> None:
    server.says[DOT] = answer
    assert (await submitted(server)).state == "unknown"


async def test_an_answer_that_came_before_the_dot_does_not_answer_it(server: RawSmtp) -> None:
    server.says["DATA"] = b"354 go on\r\n250 too early\r\n"
    server.says[DOT] = b"554 5.6.0 not this\r\n"
    assert (await submitted(server)).state != "accepted"


async def test_two_answers_to_one_command_send_nothing(server: RawSmtp) -> None:
    server.says["RCPT"] = b"250 ok\r\n250 ok\r\n"
    assert (await submitted(server, "a@x.example", "b@x.example")).state == "retryable"
    assert server.mails == []


@pytest.mark.parametrize("step", [GREETING, "EHLO", "AUTH", "MAIL", "RCPT", "DATA", DOT])
async def test_a_server_that_shuts_down_in_between_is_tried_again_later(server: RawSmtp, step: str) -> None:
    server.says[step] = b"421 4.3.2 shutting down\r\n"
    server.ends_after = step
    answer = await submitted(server)
    assert answer.state == "retryable"
    assert not answer.login_refused


# Refusals


async def test_who_was_refused_is_known_even_when_the_server_hangs_up_after_it(server: RawSmtp) -> None:
    server.says["RCPT"] = b"550 5.1.1 nobody here\r\n"
    server.says["RSET"] = b""
    server.ends_after = "RSET"
    answer = await submitted(server)
    assert (answer.state, answer.refused) == ("rejected", {"a@x.example": "550 5.1.1"})


async def test_a_wrong_password_is_offered_once_however_many_ways_there_are(server: RawSmtp) -> None:
    server.says["EHLO"] = b"250-raw\r\n250 AUTH CRAM-MD5 LOGIN PLAIN\r\n"
    server.says["AUTH"] = b"535 5.7.8 wrong\r\n"
    answer = await submitted(server)
    assert (answer.state, answer.login_refused) == ("rejected", True)
    assert server.verbs().count("AUTH") == 1, "servers count failures and lock accounts"


async def test_a_refused_login_is_said_even_when_the_server_hangs_up_after_it(server: RawSmtp) -> None:
    server.says["AUTH"] = b"535 5.7.8 wrong\r\n"
    server.ends_after = "AUTH"
    answer = await submitted(server)
    assert (answer.state, answer.login_refused) == ("rejected", True)


async def test_a_way_to_log_in_that_is_only_advertised_is_passed_over(server: RawSmtp) -> None:
    server.says["EHLO"] = b"250-raw\r\n250 AUTH LOGIN PLAIN\r\n"
    server.says["AUTH"] = b"504 5.5.4 unknown mechanism\r\n"
    await submitted(server)
    assert [line.split(b" ")[1] for line in server.heard if line.startswith(b"AUTH")] == [b"PLAIN", b"LOGIN"]


async def test_a_login_that_cannot_be_checked_now_is_called_a_login(server: RawSmtp) -> None:
    server.says["AUTH"] = b"454 4.7.0 try later\r\n"
    answer = await submitted(server)
    assert answer.state == "retryable"
    assert "login" in answer.reason


async def test_a_server_that_asks_for_ever_is_left_in_the_end(server: RawSmtp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogue, "_PATIENCE", 1)
    server.says["EHLO"] = b"250-raw\r\n250 AUTH OAUTHBEARER\r\n"
    server.says["AUTH"] = server.says["AQ=="] = b"334 e30=\r\n"
    answer = await submitted(server, auth="oauthbearer", token="stale", password=None)
    assert answer.state == "retryable"


# What a person reads


@pytest.mark.parametrize(
    ("says", "changes", "word"),
    [
        ({"EHLO": b"250 raw\r\n"}, {"smtp_security": "starttls"}, "not offer STARTTLS"),
        ({GREETING: b"* OK IMAP4rev1\r\n"}, {}, "does not speak SMTP"),
        ({}, {"smtp_security": "tls"}, "smtp_security"),
        ({}, {"smtp_host": "no-such-host.invalid"}, "name"),
        ({}, {"smtp_security": "tls", "ca_file": Path("/no/such/ca.pem")}, "ca_file"),
        ({}, {"smtp_security": "tls", "ca_file": Path(__file__)}, "ca_file"),
    ],
    ids=["no starttls", "another protocol", "no tls", "no such name", "no ca_file", "no certificate in ca_file"],
)
async def test_what_is_wrong_with_the_settings_is_said(
    server: RawSmtp, says: dict[str, bytes], changes: dict[str, Any], word: str
) -> None:
    server.says.update(says)
    answer = await submitted(server, **changes)
    assert answer.state in ("retryable", "rejected")
    assert word in answer.reason
    assert server.mails == []


async def test_whether_a_login_was_asked_for_is_known(server: RawSmtp) -> None:
    assert await dialogue.log_in_only(account(server), Credentials(account(server)))
    server.says["EHLO"] = b"250 raw\r\n"
    assert not await dialogue.log_in_only(account(server), Credentials(account(server)))


# Manners and forms


async def test_we_introduce_ourselves_in_a_form_every_server_takes(server: RawSmtp) -> None:
    await submitted(server)
    assert server.heard[0] == b"EHLO [127.0.0.1]", "a bare word is refused where a full name is asked for"


async def test_we_take_our_leave() -> None:
    with raw_smtp() as server:
        await submitted(server)
        server.says["RCPT"] = b"550 no\r\n"
        await submitted(server)
        await dialogue.log_in_only(account(server), Credentials(account(server)))
    assert server.verbs().count("QUIT") == 3


async def test_nothing_is_said_in_the_middle_of_a_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogue, "_UPLOAD_FACTOR", 0)
    with raw_smtp(EHLO=b"250 raw\r\n") as server:
        assert (await submitted(server, raw=RAW + b"x" * 10_000_000)).state == "retryable"
    assert server.mails == []
    assert server.verbs()[-1] == "DATA"
    assert b"QUIT" not in server.cut_short


async def test_a_domain_beyond_ascii_reaches_servers_that_know_only_ascii(server: RawSmtp) -> None:
    server.says["EHLO"] = b"250 raw\r\n"
    bob = Address("bob@bücher.example", "Bob")
    raw = compose(Draft(sender=Address(ME), to=(bob,), subject="s", text="Hello."))
    assert (await submitted(server, bob.email, raw=raw)).state == "accepted"
    assert b"RCPT TO:<bob@xn--bcher-kva.example>" in server.heard


async def test_a_name_beyond_ascii_keeps_its_domain_as_it_is_written(server: RawSmtp) -> None:
    assert (await submitted(server, "jürgen@bücher.example")).state == "accepted"
    assert "RCPT TO:<jürgen@bücher.example>".encode() in server.heard


@pytest.mark.parametrize("line_end", [b"\r", b"\n"])
async def test_a_blind_copy_hidden_behind_a_bare_line_end_does_not_leave(server: RawSmtp, line_end: bytes) -> None:
    raw = RAW.replace(b"\r\nSubject", line_end + b"Bcc: hidden@x.example\r\nSubject")
    assert (await submitted(server, raw=raw)).state == "rejected"
    assert server.mails == []


async def test_dots_and_line_ends_arrive_as_smtp_wants_them(server: RawSmtp) -> None:
    assert (await submitted(server, raw=RAW + b".one\r\n\r\n..two\nbare\rend")).state == "accepted"
    assert server.mails == [RAW + b"..one\r\n\r\n...two\r\nbare\r\nend\r\n"]
