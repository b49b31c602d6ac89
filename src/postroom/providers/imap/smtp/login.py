"""The first half of an SMTP session: from the connection to a completed login."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from postroom.model.errors import AuthRequired
from postroom.providers.imap.session.auth import BearerAnswers, Credentials, tls_context
from postroom.providers.imap.smtp.answers import Ended, by_code

if TYPE_CHECKING:
    from aiosmtplib import SMTP, SMTPResponse

    from postroom.settings.accounts import ImapAccount

# Says nothing about this machine, and is accepted even by servers that require a full name (RFC 5321, 4.1.3).
_OWN_NAME = "[127.0.0.1]"
_PASSWORD_WAYS = ("plain", "login", "cram-md5")  # the last works only where a server stores passwords readably
_NOT_IMPLEMENTED = 504


def new_client(account: ImapAccount) -> SMTP:
    from aiosmtplib import SMTP

    return SMTP(
        hostname=account.smtp_host,
        port=account.smtp_port,
        timeout=float(account.timeout),
        use_tls=account.smtp_security == "tls",
        start_tls=account.smtp_security == "starttls",
        local_hostname=_OWN_NAME,
    )


async def log_in(client: SMTP, account: ImapAccount, credentials: Credentials) -> bool:
    """False where the server requires no login: it accepts mail by other rules, for instance from its network."""
    await client.connect(tls_context=None if account.smtp_security == "none" else tls_context(account))
    await client.ehlo()
    if not client.server_auth_methods:
        return False
    if account.auth == "password":
        await _present_password(client, account, credentials)
    else:
        await _present_token(client, account, credentials)
    return True


async def _present_password(client: SMTP, account: ImapAccount, credentials: Credentials) -> None:
    """Once: servers count wrong passwords. The next mechanism is tried only where the server does not support one."""
    from aiosmtplib import SMTPAuthenticationError

    ways = [way for way in _PASSWORD_WAYS if way in client.server_auth_methods]
    if not ways:
        raise AuthRequired("The SMTP server does not accept passwords; set auth to xoauth2 and use a token.")
    secret = await credentials.secret()
    for way in ways:
        try:
            await getattr(client, f"auth_{way.replace('-', '')}")(account.username, secret)
        except SMTPAuthenticationError as error:
            if error.code != _NOT_IMPLEMENTED or way == ways[-1]:
                raise
        else:
            return


async def _present_token(client: SMTP, account: ImapAccount, credentials: Credentials) -> None:
    """At most twice: when the first one is refused and there is a newer one."""
    token = await credentials.secret()
    response = await _offer(client, account, token)
    if response.code >= 500 and (newer := await credentials.renewed(token)) != token:
        response = await _offer(client, account, newer)
    if response.code != 235:
        raise Ended(by_code(response.code, response.message, login=True))


async def _offer(client: SMTP, account: ImapAccount, token: str) -> SMTPResponse:
    answers = BearerAnswers(account.auth, account.username, token)
    response = await client.execute_command(b"AUTH", account.auth.upper().encode(), b64encode(answers(b"")))
    while response.code == 334:  # the details of a refusal: they must be acknowledged before the server reports it
        response = await client.execute_command(b64encode(answers(b"")))
    return response
