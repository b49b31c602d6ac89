"""Logging in to a real Dovecot: every kind of security and every way to prove who one is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.certificates import make_certificates
from tests.peers.daemon import free_ports
from tests.peers.dovecot import Dovecot, running_dovecot
from tests.peers.faultproxy import faulty
from tests.peers.lying_imap import lying_imap
from tests.peers.tokens import make_token

from postroom.model.errors import AuthRequired, PostroomError, ProviderError, ProviderUnavailable, RateLimited
from postroom.providers.imap.session.client import Session
from postroom.settings import ImapAccount


def account(dovecot: Dovecot, security: str, **changes: Any) -> ImapAccount:
    port = dovecot.imaps if security == "tls" else dovecot.imap
    return imap_account(
        dovecot, host="localhost", security=security, port=port, **({"ca_file": dovecot.certificates.ca} | changes)
    )


@pytest.mark.parametrize("security", ["tls", "starttls", "none"])
async def test_a_password_opens_the_mailbox_over(dovecot: Dovecot, security: str) -> None:
    async with opened(account(dovecot, security)) as mailbox:
        assert any(folder.role == "inbox" for folder in await mailbox.folders())


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_a_stranger_to_our_authorities_is_refused(dovecot: Dovecot, tmp_path: Path, security: str) -> None:
    for ca_file in (None, make_certificates(tmp_path).ca):
        with pytest.raises(ProviderError, match="certificate"):
            async with opened(account(dovecot, security, ca_file=ca_file)):
                pass


async def test_a_certificate_for_another_name_is_refused() -> None:
    with running_dovecot(certified="elsewhere.test") as impostor, pytest.raises(ProviderError, match="certificate"):
        async with opened(account(impostor, "tls")):
            pass


async def test_capabilities_are_those_after_login(dovecot: Dovecot) -> None:
    session = await asyncio.to_thread(Session, account(dovecot, "starttls"))
    session.close()
    assert session.has("CONDSTORE"), "Dovecot names CONDSTORE only to whom it knows"


async def test_a_wrong_password_says_that_one_must_log_in_again(dovecot: Dovecot) -> None:
    with pytest.raises(AuthRequired) as caught:
        async with opened(account(dovecot, "tls", password="wrong")):
            pass
    assert "wrong" not in caught.value.message


async def test_a_missing_password_says_where_to_put_one(dovecot: Dovecot) -> None:
    with pytest.raises(AuthRequired, match="password_env"):
        async with opened(account(dovecot, "tls", password=None)):
            pass


@pytest.mark.parametrize("mechanism", ["xoauth2", "oauthbearer"])
async def test_a_token_opens_the_mailbox_by(dovecot: Dovecot, mechanism: str) -> None:
    user = dovecot.new_user()
    async with opened(
        account(dovecot, "tls", auth=mechanism, token=make_token(user), password=None, address=user)
    ) as box:
        assert any(folder.role == "drafts" for folder in await box.folders())


@pytest.mark.parametrize("mechanism", ["xoauth2", "oauthbearer"])
@pytest.mark.parametrize(
    "fault",
    [{"lifetime": -60}, {"issuer": "https://evil.example"}, {"algorithm": "none"}, {"key": b"another key"}],
    ids=["expired", "issuer", "unsigned", "key"],
)
async def test_a_refused_token_is_answered_and_said(dovecot: Dovecot, mechanism: str, fault: dict[str, Any]) -> None:
    user = dovecot.new_user()
    token = make_token(user, **fault)
    with pytest.raises(AuthRequired) as caught:
        async with opened(account(dovecot, "tls", auth=mechanism, token=token, password=None, address=user)):
            pass
    assert token not in caught.value.message


async def test_another_users_token_opens_nothing(dovecot: Dovecot) -> None:
    token = make_token(dovecot.new_user())
    with pytest.raises(AuthRequired):
        async with opened(account(dovecot, "tls", auth="xoauth2", token=token, password=None)):
            pass


async def test_passwords_are_not_sent_where_the_server_wants_none_in_the_clear() -> None:
    # Dovecot trusts a client that comes from its own address: come from another one.
    with (
        running_dovecot(settings="disable_plaintext_auth = yes\n") as strict,
        faulty(strict.imap, source="127.0.0.2") as proxy,
        pytest.raises(AuthRequired, match="starttls"),
    ):
        async with opened(imap_account(strict, port=proxy.port)):
            pass


async def test_a_server_without_starttls_is_not_trusted_in_the_clear(dovecot: Dovecot) -> None:
    with running_dovecot(settings="ssl = no\n") as plain, pytest.raises(ProviderError, match="STARTTLS"):
        async with opened(imap_account(plain, security="starttls", ca_file=dovecot.certificates.ca)):
            pass


async def test_a_server_that_is_not_there_is_unavailable(dovecot: Dovecot) -> None:
    (port,) = free_ports(1)
    with pytest.raises(ProviderUnavailable):
        async with opened(imap_account(dovecot, port=port)):
            pass


@pytest.mark.parametrize("capability", ["IMAP4rev1", "IMAP4rev1 AUTH=PLAIN"], ids=["LOGIN", "AUTHENTICATE"])
@pytest.mark.parametrize(
    ("last_words", "error"),
    [(b"", ProviderUnavailable), (b"A O", ProviderUnavailable), (b"* BYE enough of you\r\n", AuthRequired)],
    ids=["without a word", "within a word", "with a reason"],
)
async def test_a_server_that_hangs_up_during_the_login_without_a_reason_has_not_refused_it(
    capability: str, last_words: bytes, error: type[Exception]
) -> None:
    def hangs_up(command: str) -> bytes | None:
        return last_words if command.startswith(("LOGIN", "AUTHENTICATE")) else None

    with lying_imap(capability=capability, hangs_up=hangs_up) as liar, pytest.raises(error):
        async with opened(imap_account(liar)):  # type: ignore[arg-type]
            pass


@pytest.mark.parametrize("lines", [[], [b"* CAPABILITY IMAP2 STARTTLS"]], ids=["nothing", "another version"])
async def test_a_server_that_does_not_say_that_it_speaks_imap_is_a_clear_error(lines: list[bytes]) -> None:
    with (
        lying_imap(lie=lambda command, told: lines if command == "CAPABILITY" else told) as liar,
        pytest.raises(ProviderError, match="does not speak IMAP"),
    ):
        async with opened(imap_account(liar)):  # type: ignore[arg-type]
            pass


@pytest.mark.parametrize(
    ("greeting", "error", "said"),
    [
        (b"* BYE [ALERT] Maximum connection limit reached for 192.0.2.1", ProviderUnavailable, "busy or not working"),
        (b"* BYE Server shutting down.", ProviderUnavailable, "busy or not working"),
        (b"* BYE Too many simultaneous connections", RateLimited, "limit"),
        (b"* NO nothing here", ProviderError, "does not speak IMAP"),
    ],
)
async def test_a_server_that_takes_no_connections_now_is_not_taken_for_another_protocol(
    greeting: bytes, error: type[PostroomError], said: str
) -> None:
    with lying_imap(greeting=greeting) as busy, pytest.raises(error, match=said) as caught:
        async with opened(imap_account(busy)):  # type: ignore[arg-type]
            pass
    assert caught.value.retryable is greeting.startswith(b"* BYE")


async def test_a_server_that_does_not_say_what_it_can_do_after_login_is_a_clear_error() -> None:
    with lying_imap() as liar:
        liar.lie = lambda command, told: (
            [] if "LOGIN" in " ".join(liar.heard[:-1]) and command == "CAPABILITY" else told
        )
        with pytest.raises(ProviderError, match="cannot be understood"):
            async with opened(imap_account(liar)):  # type: ignore[arg-type]
                pass
