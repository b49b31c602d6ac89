"""The result of discovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Security = Literal["tls", "starttls"]
AuthKind = Literal["password", "app-password", "oauth2"]
Source = Literal["known", "autoconfig", "srv", "mx", "guess"]


@dataclass(frozen=True, slots=True)
class Server:
    host: str
    port: int
    security: Security

    def __str__(self) -> str:
        return f"{self.host}:{self.port} ({self.security})"


@dataclass(frozen=True, slots=True)
class Found:
    """`usernames` in the order worth trying, `note` what the user must know before logging in.

    `is_assured` is false where nothing vouches for a server outside the address's own domain: a forged DNS answer
    could have put it there, so a person has to check it before a password is sent there.
    """

    imap: Server
    smtp: Server | None
    auth: AuthKind
    usernames: tuple[str, ...]
    source: Source
    note: str = ""
    is_assured: bool = True


def is_within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
