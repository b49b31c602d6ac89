"""TLS trust and login: certificates, passwords, bearer tokens."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread

from postroom.model.errors import ProviderError
from postroom.providers.credentials.choosing import token_source
from postroom.providers.credentials.stored import StoredToken

if TYPE_CHECKING:
    from postroom.providers.tokens import TokenSource
    from postroom.settings.accounts import ImapAccount


def tls_context(account: ImapAccount) -> ssl.SSLContext:
    """Always verifies. `ca_file` replaces the system's authorities."""
    try:
        return ssl.create_default_context(cafile=str(account.ca_file) if account.ca_file else None)
    except OSError:  # also raised for a file without a certificate
        raise ProviderError(
            f"The ca_file of account {account.name} ({account.ca_file}) cannot be read or contains no certificate. "
            "Set it to the PEM file of the authority that signed the server's certificate."
        ) from None


class Credentials:
    """The password or the token, whichever `auth` asks for. One per account, for IMAP, SMTP and ManageSieve."""

    def __init__(self, account: ImapAccount, tokens: TokenSource | None = None, *, proxies: bool = True) -> None:
        if account.auth == "password":
            self._source: TokenSource = StoredToken(account, "password")
        else:
            self._source = tokens or token_source(account, proxies=proxies)

    async def secret(self) -> str:
        return await self._source.token()

    async def renewed(self, refused: str) -> str:
        """Another one to replace one that a server refused; the same where there is no other."""
        return await self._source.refreshed(refused)


def waited_for(call: Callable[..., Coroutine[Any, Any, str]], *args: str) -> str:
    """For worker threads: runs what only the event loop can do."""
    try:
        return anyio.from_thread.run(call, *args)
    except anyio.NoEventLoopError:  # a thread not started by anyio
        return anyio.run(call, *args)


def prove_identity(client: Any, account: ImapAccount, secret: str) -> None:
    """Log an IMAPClient in. Raises the client's own error when the server refuses."""
    if account.auth != "password":
        client.sasl_login(account.auth.upper(), BearerAnswers(account.auth, account.username, secret))
    elif client.has_capability("AUTH=PLAIN"):
        client.plain_login(account.username, secret)  # base64: allows non-ASCII passwords
    else:
        client.login(account.username, secret)


class BearerAnswers:
    """The client's side of XOAUTH2 and OAUTHBEARER.

    A refusal comes as a further challenge that must be answered before the server says NO; silence would hang.
    """

    def __init__(self, mechanism: str, user: str, token: str) -> None:
        self._first = bearer_response(mechanism, user, token)
        self._closing = b"" if mechanism == "xoauth2" else b"\x01"
        self._asked = 0

    def __call__(self, challenge: bytes) -> bytes:
        self._asked += 1
        return self._first if self._asked == 1 else self._closing


def bearer_response(mechanism: str, user: str, token: str) -> bytes:
    if mechanism == "xoauth2":
        return f"user={user}\x01auth=Bearer {token}\x01\x01".encode()
    name = user.replace("=", "=3D").replace(",", "=2C")
    return f"n,a={name},\x01auth=Bearer {token}\x01\x01".encode()
