"""What servers and sockets say, and what a person is told to do about it."""

from __future__ import annotations

import imaplib
import socket
import ssl

import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.dovecot import Dovecot
from tests.peers.raw_smtp import raw_smtp

from postroom.model.errors import AuthRequired, NoAnswer, PostroomError, ProviderError, RateLimited
from postroom.providers.imap.session.connecting import _login_refused
from postroom.providers.imap.session.failures import lost


@pytest.mark.parametrize(
    "answer",
    [
        b"[ALERT] Too many simultaneous connections. (Failure)",
        b"[UNAVAILABLE] Maximum number of connections from user+IP exceeded (mail_max_userip_connections=10)",
        b"[LIMIT] no more of them",
        b"Too many concurrent sessions",
    ],
)
def test_a_login_refused_for_too_many_connections_is_no_wrong_password(answer: bytes) -> None:
    assert isinstance(_login_refused(imaplib.IMAP4.error(answer)), RateLimited)


@pytest.mark.parametrize("answer", [b"[AUTHENTICATIONFAILED] no", b"Login failed.", b"Too many attempts"])
def test_any_other_refused_login_asks_to_look_at_the_password(answer: bytes) -> None:
    assert isinstance(_login_refused(imaplib.IMAP4.error(answer)), AuthRequired)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), "Check port and security"),
        (ConnectionRefusedError(), "Check host and port"),
        (socket.gaierror(), "Check host"),
        (TimeoutError(), "security"),
        (imaplib.IMAP4.abort("unexpected response: b'220 mail'"), "does not speak IMAP"),
        (ssl.SSLEOFError(), "closed the connection"),
        (ConnectionResetError(), "closed the connection"),
    ],
)
def test_a_lost_connection_says_what_to_look_at(error: Exception, says: str) -> None:
    told = lost(error, unclear=False)
    assert says in told.message
    assert told.retryable
    assert isinstance(told, NoAnswer) == isinstance(error, TimeoutError)


def test_a_change_that_may_have_happened_is_said_first() -> None:
    assert "may or may not have happened" in lost(ssl.SSLError(1, "x"), unclear=True).message


async def failure_of(dovecot: Dovecot, **changes: object) -> PostroomError:
    with pytest.raises(PostroomError) as caught:
        async with opened(imap_account(dovecot, **changes)):
            pass
    return caught.value


async def test_tls_where_none_is_spoken_says_so(dovecot: Dovecot) -> None:
    told = await failure_of(dovecot, security="tls", ca_file=dovecot.certificates.ca)
    assert "Check port and security" in told.message


async def test_another_protocol_is_recognised(dovecot: Dovecot) -> None:
    with raw_smtp() as server:
        told = await failure_of(dovecot, port=server.port)
    assert "does not speak IMAP" in told.message


async def test_a_ca_file_that_is_none_is_named(dovecot: Dovecot) -> None:
    for path in ("/no/such/ca.pem", __file__):
        told = await failure_of(dovecot, security="starttls", ca_file=path)
        assert isinstance(told, ProviderError)
        assert path in told.message
