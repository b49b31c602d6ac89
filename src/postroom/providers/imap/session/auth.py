"""How a connection is trusted and who logs in: certificates, passwords, bearer tokens."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from postroom.model.errors import AuthRequired, ProviderError
from postroom.settings.secrets import resolve

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount


def tls_context(account: ImapAccount) -> ssl.SSLContext:
    """Always verifying. `ca_file` adds an authority of one's own to none of the system's: it stands alone."""
    try:
        return ssl.create_default_context(cafile=str(account.ca_file) if account.ca_file else None)
    except OSError:  # a file that holds no certificate is one too
        raise ProviderError(
            f"The ca_file of account {account.name} ({account.ca_file}) cannot be read or holds no certificate. "
            "Name the PEM file of the authority that signed the server's certificate."
        ) from None


def secret_of(account: ImapAccount) -> str:
    """The password or the token, whichever `auth` asks for."""
    name = "password" if account.auth == "password" else "token"
    secret = resolve(account, name)
    if secret is None:
        raise AuthRequired(
            f"Account {account.name} has no {name}. "
            f"Run postroom accounts login {account.name}, or set {name}_env or {name}_file."
        )
    return secret


def prove_identity(client: Any, account: ImapAccount) -> None:
    """Log an IMAPClient in. Raises the client's own error when the server refuses."""
    secret = secret_of(account)
    if account.auth != "password":
        client.sasl_login(account.auth.upper(), BearerAnswers(account.auth, account.username, secret))
    elif client.has_capability("AUTH=PLAIN"):
        client.plain_login(account.username, secret)  # base64: takes passwords beyond ASCII
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
