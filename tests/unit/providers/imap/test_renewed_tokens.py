"""A token that has expired is exchanged for a new one unnoticed: at a real Dovecot and Postfix, over ManageSieve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import imap_account
from tests.peers.dovecot import Dovecot
from tests.peers.postfix import Postfix
from tests.peers.tokens import make_token

from postroom.model.errors import AuthRequired, PostroomError, ProviderError, ProviderUnavailable, RateLimited
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.providers.imap.rules.managesieve import SieveScripts
from postroom.providers.imap.session.auth import Credentials
from postroom.providers.imap.smtp.transport import SmtpTransport
from postroom.settings import ImapAccount


class Renewing:
    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.refused: list[str] = []

    async def token(self) -> str:
        return self.tokens[0]

    async def refreshed(self, old: str) -> str:
        self.refused.append(old)
        if len(self.tokens) > 1:
            self.tokens.pop(0)
        return self.tokens[0]


def account(dovecot: Dovecot, user: str, **changes: Any) -> ImapAccount:
    return imap_account(dovecot, user, auth="xoauth2", password=None, **changes)


def expired_then_valid(user: str) -> Renewing:
    return Renewing(make_token(user, lifetime=-60), make_token(user))


async def test_over_imap(dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch) -> None:
    user = dovecot.new_user()
    source = expired_then_valid(user)
    monkeypatch.setattr("postroom.providers.imap.session.auth.token_source", lambda account, **_: source)
    mailbox = ImapMailbox(account(dovecot, user), ProviderContext(Path()))
    await mailbox.connect()
    await mailbox.close()
    assert len(source.refused) == 1


async def test_over_smtp(dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch) -> None:
    user = dovecot.new_user()
    source = expired_then_valid(user)
    monkeypatch.setattr("postroom.providers.imap.session.auth.token_source", lambda account, **_: source)
    sender = account(dovecot, user, smtp_host="localhost", smtp_port=postfix.tls, ca_file=dovecot.certificates.ca)
    context = ProviderContext(Path())
    transport = SmtpTransport(sender, context, ImapMailbox(sender, context))
    assert await transport.check_login()
    assert len(source.refused) == 1


async def test_over_managesieve(dovecot: Dovecot) -> None:
    user = dovecot.new_user()
    source = expired_then_valid(user)
    keeper = account(dovecot, user, sieve_host=dovecot.host, sieve_port=dovecot.sieve, sieve_security="none")
    await SieveScripts(keeper, Credentials(keeper, source)).list()
    assert len(source.refused) == 1


async def test_a_new_token_that_is_refused_too_is_the_end(dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch) -> None:
    user = dovecot.new_user()
    source = Renewing(*(make_token(user, lifetime=-60 - n) for n in range(3)))
    monkeypatch.setattr("postroom.providers.imap.session.auth.token_source", lambda account, **_: source)
    mailbox = ImapMailbox(account(dovecot, user), ProviderContext(Path()))
    with pytest.raises(AuthRequired):
        await mailbox.connect()
    await mailbox.close()
    assert len(source.refused) == 1


async def test_a_program_of_the_settings_prints_the_token(dovecot: Dovecot, tmp_path: Path) -> None:
    user = dovecot.new_user()
    (tmp_path / "token").write_text(make_token(user))
    mailbox = ImapMailbox(
        account(dovecot, user, token_command=["cat", str(tmp_path / "token")]), ProviderContext(Path())
    )
    await mailbox.connect()
    await mailbox.close()


@pytest.mark.parametrize("trouble", [ProviderUnavailable("down"), ProviderError("odd answer"), RateLimited("slow")])
async def test_a_mail_waits_while_no_token_can_be_had(
    dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch, trouble: PostroomError
) -> None:
    """The token service being out of order says nothing about the mail: it must not be given up."""

    class OutOfOrder(Renewing):
        async def token(self) -> str:
            raise trouble

    user = dovecot.new_user()
    monkeypatch.setattr("postroom.providers.imap.session.auth.token_source", lambda account, **_: OutOfOrder())
    sender = account(dovecot, user, smtp_host="localhost", smtp_port=postfix.tls, ca_file=dovecot.certificates.ca)
    context = ProviderContext(Path())
    request = SubmitRequest(WireEnvelope(user, (user,)), b"Subject: x\r\n\r\nx\r\n", "<one@x>", "try")
    outcome = await SmtpTransport(sender, context, ImapMailbox(sender, context)).submit(request)
    assert (outcome.state, outcome.login_refused) == ("retryable", False)
