"""Every way a submission can end. The rule: before the final dot nothing was accepted, after it nobody can know."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.daemon import free_ports
from tests.peers.dovecot import DOMAIN, Dovecot, running_dovecot
from tests.peers.faultproxy import faulty
from tests.peers.postfix import MESSAGE_SIZE_LIMIT, Postfix
from tests.peers.scripted_smtp import HANG_UP, SILENCE, Script, scripted_smtp
from tests.peers.tokens import make_token

from postroom.model.errors import Unsupported
from postroom.model.outcome import SubmitOutcome, SubmitRequest, WireEnvelope
from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.providers.imap.smtp.transport import SmtpTransport
from postroom.settings import ImapAccount

WITHOUT_SENT = "namespace inbox {\n  mailbox Sent {\n    auto = no\n    special_use =\n  }\n}\n"


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_smtp() as script:
        yield script


@pytest.fixture
def account(dovecot: Dovecot, script: Script) -> ImapAccount:
    return imap_account(dovecot, smtp_host=script.host, smtp_port=script.port, smtp_security="none", timeout=1)


@pytest.fixture
async def mailbox(account: ImapAccount) -> AsyncIterator[ImapMailbox]:
    async with opened(account) as mailbox:
        yield mailbox


def request(
    account: ImapAccount, *recipients: str, raw: bytes = letter("out"), key: str = "out", **more: Any
) -> SubmitRequest:
    envelope = WireEnvelope(account.address, recipients or (f"bob@{DOMAIN}",))
    return SubmitRequest(envelope, raw, f"<{key}@seed.example>", "attempt", **more)


async def submitted(account: ImapAccount, mailbox: ImapMailbox, sent: SubmitRequest) -> SubmitOutcome:
    return await SmtpTransport(account, ProviderContext(Path()), mailbox).submit(sent)


async def sent_folder(mailbox: ImapMailbox) -> list[str]:
    return [row.subject for row in (await mailbox.search(Query(In("sent")), limit=10, offset=0)).items]


@pytest.mark.parametrize("step", ["EHLO", "MAIL", "RCPT", "DATA", "END"])
@pytest.mark.parametrize(("answer", "state"), [("451 4.3.0 later", "retryable"), ("550 5.7.1 never", "rejected")])
async def test_a_refusal_at_any_step_is_definite(
    account: ImapAccount, mailbox: ImapMailbox, script: Script, step: str, answer: str, state: str
) -> None:
    script.answers[step] = answer
    outcome = await submitted(account, mailbox, request(account))
    assert (outcome.state, outcome.accepted) == (state, ())
    assert script.taken == []
    assert await sent_folder(mailbox) == []


@pytest.mark.parametrize("step", ["EHLO", "MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize("fault", [HANG_UP, SILENCE])
async def test_a_connection_lost_before_the_dot_may_be_tried_again(
    account: ImapAccount, mailbox: ImapMailbox, script: Script, step: str, fault: str
) -> None:
    script.answers[step] = fault
    outcome = await submitted(account, mailbox, request(account))
    assert outcome.state == "retryable"
    assert script.taken == []


async def test_an_answer_lost_after_the_dot_is_unknown(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    script.answers["END"] = HANG_UP
    outcome = await submitted(account, mailbox, request(account))
    assert (outcome.state, outcome.accepted) == ("unknown", ())
    assert await sent_folder(mailbox) == [], "a copy in Sent would later be taken for proof of acceptance"


async def test_silence_after_the_dot_is_unknown(
    account: ImapAccount, mailbox: ImapMailbox, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.providers.imap.smtp.dialogue._FINAL_ANSWER_FACTOR", 1)
    script.answers["END"] = SILENCE
    assert (await submitted(account, mailbox, request(account))).state == "unknown"


async def test_a_connection_cut_inside_the_mail_may_be_tried_again(
    dovecot: Dovecot, mailbox: ImapMailbox, script: Script
) -> None:
    with faulty(script.port) as proxy:
        account = imap_account(dovecot, smtp_host=script.host, smtp_port=proxy.port, smtp_security="none", timeout=1)
        proxy.reset(cut_on_client=b"FIRST-LINE")
        raw = letter("out", text="FIRST-LINE\r\n" + "x" * 900_000)
        outcome = await submitted(account, mailbox, request(account, raw=raw))
    assert outcome.state in ("retryable", "unknown")
    assert script.taken == []


async def test_one_refused_recipient_stops_the_mail_before_anyone_gets_it(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    script.answers["RCPT gone@x.example"] = "550 5.1.1 CANARY no such user"
    outcome = await submitted(account, mailbox, request(account, "here@x.example", "gone@x.example"))
    assert (outcome.state, outcome.accepted) == ("rejected", ())
    assert outcome.refused == {"gone@x.example": "550 5.1.1"}
    assert script.taken == []


async def test_a_recipient_refused_for_now_may_be_tried_again(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    script.answers["RCPT slow@x.example"] = "450 4.2.1 greylisted"
    outcome = await submitted(account, mailbox, request(account, "here@x.example", "slow@x.example"))
    assert (outcome.state, set(outcome.refused)) == ("retryable", {"slow@x.example"})


async def test_a_refused_login_is_told_apart_from_a_refused_mail(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    script.answers["AUTH"] = "535 5.7.8 no"
    outcome = await submitted(account, mailbox, request(account))
    assert (outcome.state, outcome.login_refused) == ("retryable", True)
    assert "login" in outcome.reason


async def test_a_refusal_after_the_dot_is_never_one_of_the_login(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    script.answers["END"] = "535 5.7.1 your mail is not welcome"
    outcome = await submitted(account, mailbox, request(account))
    assert (outcome.state, outcome.login_refused) == ("rejected", False)


async def test_what_is_accepted_is_exactly_what_was_given(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    raw = letter("out", text=".leading dot\r\n..two\r\n\r\n.")
    outcome = await submitted(account, mailbox, request(account, "a@x.example", "b@x.example", raw=raw))
    assert (outcome.state, outcome.accepted) == ("accepted", ("a@x.example", "b@x.example"))
    (taken,) = script.taken
    assert taken.original_content == raw
    assert (taken.mail_from, taken.rcpt_tos) == (account.address, ["a@x.example", "b@x.example"])


async def test_a_mail_that_names_its_blind_copies_never_leaves(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    raw = b"bCC : hidden@x.example\r\n" + letter("out")
    assert (await submitted(account, mailbox, request(account, raw=raw))).state == "rejected"
    assert script.taken == []


@pytest.mark.parametrize("address", ["a@x.example> SIZE=1", "a@x.example\r\nDATA", "a]<b@x.example>", "a b@x.example"])
async def test_an_address_that_could_say_more_than_itself_never_reaches_the_wire(
    account: ImapAccount, mailbox: ImapMailbox, script: Script, address: str
) -> None:
    assert (await submitted(account, mailbox, request(account, address))).state == "rejected"
    assert script.taken == []


async def test_a_mail_over_the_servers_size_is_not_sent(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    raw = letter("out", text="x" * 1_100_000)
    outcome = await submitted(account, mailbox, request(account, raw=raw))
    assert outcome.state == "rejected"
    assert "larger" in outcome.reason
    assert script.taken == []


async def test_an_address_beyond_ascii_needs_a_server_that_takes_it(dovecot: Dovecot, mailbox: ImapMailbox) -> None:
    for utf8, state in ((True, "accepted"), (False, "rejected")):
        with scripted_smtp(utf8=utf8) as script:
            account = imap_account(dovecot, smtp_host=script.host, smtp_port=script.port, smtp_security="none")
            outcome = await submitted(account, mailbox, request(account, "jürgen@x.example", save_to_sent=False))
            assert outcome.state == state
            assert len(script.taken) == utf8


async def test_no_copy_is_filed_where_none_is_wanted(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    await submitted(account, mailbox, request(account, save_to_sent=False))
    assert await sent_folder(mailbox) == []


async def test_a_copy_that_the_server_filed_itself_is_not_doubled(
    account: ImapAccount, mailbox: ImapMailbox, script: Script
) -> None:
    draft = await mailbox.create_draft(letter("out"))
    await mailbox.move([draft.ref], "Sent")
    outcome = await submitted(account, mailbox, request(account))
    assert await sent_folder(mailbox) == ["out"]
    assert outcome.message_ref.startswith("Sent|")


async def test_a_copy_that_cannot_be_filed_is_a_warning_and_no_failure(
    dovecot: Dovecot, account: ImapAccount, script: Script
) -> None:
    with faulty(dovecot.imap) as proxy:
        async with opened(account.model_copy(update={"port": proxy.port})) as mailbox:
            proxy.reset(cut_before_client=b"EXAMINE")
            outcome = await submitted(account, mailbox, request(account))
    assert outcome.state == "accepted"
    assert "Sent" in outcome.warnings[0]


async def test_whatever_goes_wrong_while_filing_the_copy_the_mail_is_accepted(
    account: ImapAccount, mailbox: ImapMailbox, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nonsense(*arguments: object) -> str:
        raise ValueError("a server that counts in words")

    monkeypatch.setattr(mailbox, "file_sent", nonsense)
    outcome = await submitted(account, mailbox, request(account))
    assert outcome.state == "accepted"
    assert "Sent" in outcome.warnings[0]


async def test_where_there_is_no_sent_folder_an_unclear_send_stays_unclear_and_a_person_decides() -> None:
    with running_dovecot(settings=WITHOUT_SENT) as server:
        account = imap_account(server, smtp_host="127.0.0.1")
        async with opened(account) as mailbox:
            outcome = await SmtpTransport(account, ProviderContext(Path()), mailbox).reconcile(request(account))
    assert outcome.state == "unknown"
    assert "Sent" in outcome.reason


async def test_without_an_smtp_host_sending_is_unsupported(dovecot: Dovecot, mailbox: ImapMailbox) -> None:
    with pytest.raises(Unsupported):
        await submitted(imap_account(dovecot), mailbox, request(imap_account(dovecot)))


async def test_a_server_that_is_not_there_may_be_tried_again(dovecot: Dovecot, mailbox: ImapMailbox) -> None:
    (port,) = free_ports(1)
    account = imap_account(dovecot, smtp_host="127.0.0.1", smtp_port=port, smtp_security="none")
    assert (await submitted(account, mailbox, request(account))).state == "retryable"


class TestPostfix:
    """The same over a real server, with every kind of security and login."""

    @pytest.fixture
    def over(self, dovecot: Dovecot, postfix: Postfix) -> Any:
        def account(security: str, **changes: Any) -> ImapAccount:
            port = {"none": postfix.plain, "starttls": postfix.starttls, "tls": postfix.tls}[security]
            values: dict[str, Any] = {"ca_file": dovecot.certificates.ca, "smtp_security": security, "smtp_port": port}
            return imap_account(dovecot, smtp_host="localhost", **(values | changes))

        return account

    @pytest.mark.parametrize("security", ["none", "starttls", "tls"])
    async def test_a_mail_is_taken_over(self, over: Any, security: str) -> None:
        account = over(security)
        async with opened(account) as mailbox:
            outcome = await submitted(account, mailbox, request(account))
            assert outcome.state == "accepted"
            assert await sent_folder(mailbox) == ["out"]

    @pytest.mark.parametrize("mechanism", ["xoauth2", "oauthbearer"])
    async def test_a_token_logs_in_by(self, dovecot: Dovecot, over: Any, mechanism: str) -> None:
        user = dovecot.new_user()
        account = over("tls", auth=mechanism, token=make_token(user), password=None, user=user)
        async with opened(account) as mailbox:
            assert (await submitted(account, mailbox, request(account))).state == "accepted"

    async def test_a_refused_token_is_said_and_nothing_hangs(self, dovecot: Dovecot, over: Any) -> None:
        user = dovecot.new_user()
        stale = over("tls", auth="xoauth2", token=make_token(user, lifetime=-60), password=None, user=user)
        outcome = await submitted(stale, ImapMailbox(stale, ProviderContext(Path())), request(stale))
        assert (outcome.state, outcome.login_refused) == ("retryable", True)
        assert "login" in outcome.reason

    async def test_a_wrong_password_is_a_refused_login(self, over: Any) -> None:
        wrong = over("tls", password="wrong")
        mailbox = ImapMailbox(wrong, ProviderContext(Path()))
        assert (await submitted(wrong, mailbox, request(wrong))).login_refused

    @pytest.mark.parametrize("security", ["starttls", "tls"])
    async def test_a_server_without_a_trusted_certificate_gets_nothing(self, over: Any, security: str) -> None:
        async with opened(over("none")) as mailbox:
            account = over(security, ca_file=None)
            outcome = await submitted(account, mailbox, request(account))
        assert (outcome.state, outcome.login_refused) == ("retryable", False)
        assert "certificate" in outcome.reason

    async def test_another_persons_sender_address_is_rejected(self, over: Any) -> None:
        account = over("tls")
        async with opened(account) as mailbox:
            foreign = SubmitRequest(WireEnvelope(f"boss@{DOMAIN}", (f"bob@{DOMAIN}",)), letter("out"), "<o@x>", "a")
            assert (await submitted(account, mailbox, foreign)).state == "rejected"

    async def test_a_mail_over_the_size_limit_is_rejected(self, over: Any) -> None:
        account = over("tls")
        async with opened(account) as mailbox:
            raw = letter("out", text="x" * MESSAGE_SIZE_LIMIT)
            assert (await submitted(account, mailbox, request(account, raw=raw))).state == "rejected"
