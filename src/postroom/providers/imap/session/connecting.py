"""From an account's settings and credentials to an IMAPClient that is logged in."""

from __future__ import annotations

import contextlib
import imaplib
from functools import partial
from typing import TYPE_CHECKING, Any

from postroom.model.errors import AuthRequired, ProviderError
from postroom.providers.imap.session import imapclient_internals as internals
from postroom.providers.imap.session.auth import Credentials, prove_identity, tls_context, waited_for
from postroom.providers.imap.session.dialling import Dialled, Securing, dial
from postroom.providers.imap.session.failures import NOT_IMAP, refused

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount


def be_greeted(account: ImapAccount, dialled: Dialled | None = None) -> None:
    """Returns with the first byte of its greeting: a server that is only slow needs long for every other answer."""
    secure = tls_context(account) if account.security == "tls" else None
    sock = dial(account.host, account.port, float(account.timeout), secure, dialled)
    try:
        sock.recv(1)
    finally:
        sock.close()


def connect(account: ImapAccount, dialled: Dialled | None = None) -> Any:
    internals.allow_long_lines()
    context = None if account.security == "none" else tls_context(account)
    timeout = float(account.timeout)
    secure = context if account.security == "tls" else None
    try:
        client = internals.client_over(
            partial(dial, account.host, account.port, timeout, secure, dialled),
            account.host,
            account.port,
            timeout,
            is_secure=secure is not None,
        )
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        raise _unwelcome(error) from None
    internals.keep_quiet(client)
    try:
        if context is not None and secure is None:
            _start_tls(client, Securing(context, dialled))
    except BaseException:
        _hang_up(client)
        raise
    return client


def _unwelcome(error: imaplib.IMAP4.error) -> Exception:
    """It takes no connections now and says so instead of a greeting; or it does not say that it is IMAP4rev1."""
    greeting = error.args[0] if error.args else b""
    if not (isinstance(greeting, bytes) and greeting[:5].upper() == b"* BYE"):
        return ProviderError(NOT_IMAP)
    known = refused(error)
    return known if known.retryable else refused(imaplib.IMAP4.error("[UNAVAILABLE]"))


def _start_tls(client: Any, context: Securing) -> None:
    """Never falls back to plain text: an attacker could remove STARTTLS from the server's list."""
    if not client.has_capability("STARTTLS"):
        raise ProviderError('The mail server does not offer STARTTLS. Set security to "tls" and port to match.')
    client.starttls(context)
    internals.keep_timeout(client)


def connect_and_log_in(account: ImapAccount, credentials: Credentials, dialled: Dialled | None = None) -> Any:
    """Retried once with a newer token when the first is refused, on a new connection: some servers disconnect then."""
    client = connect(account, dialled)
    secret = ""
    try:
        _refuse_to_log_in_unprotected(client)
        secret = waited_for(credentials.secret)
        log_in(client, account, secret)
    except AuthRequired:
        _hang_up(client)
        newer = waited_for(credentials.renewed, secret) if secret else ""
        if newer == secret:
            raise
        return _connect_with(account, newer, dialled)
    except BaseException:
        _hang_up(client)
        raise
    return client


def _refuse_to_log_in_unprotected(client: Any) -> None:
    if client.has_capability("LOGINDISABLED"):
        raise AuthRequired('The mail server rejects unencrypted passwords. Set security to "starttls" or "tls".')


def _connect_with(account: ImapAccount, secret: str, dialled: Dialled | None) -> Any:
    client = connect(account, dialled)
    try:
        log_in(client, account, secret)
    except BaseException:
        _hang_up(client)
        raise
    return client


def _hang_up(client: Any) -> None:
    with contextlib.suppress(OSError):  # the first failure is the one to report
        client.shutdown()


def log_in(client: Any, account: ImapAccount, secret: str) -> None:
    try:
        prove_identity(client, account, secret)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        ended = error.__context__  # IMAPClient calls that a refusal, too
        if isinstance(ended, imaplib.IMAP4.abort) and not internals.has_said_bye(client):
            raise ended from None
        raise _login_refused(error) from None
    internals.forget_capabilities(client)


def _login_refused(error: Exception) -> Exception:
    """Busy servers refuse logins too; every other refusal means that the credentials must be checked."""
    known = refused(error)
    return known if known.retryable else refused(imaplib.IMAP4.error("[AUTHENTICATIONFAILED]"))
