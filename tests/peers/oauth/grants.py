"""What was handed out and can be exchanged: codes, refresh tokens, device codes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from tests.peers.oauth.errors import OAuthError, invalid_grant

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}\Z")


@dataclass(frozen=True, slots=True)
class Consent:
    """A person let a client do something. All tokens that come of it are one family, and revoked together."""

    client: str
    user: str
    scopes: frozenset[str]
    nonce: str = ""
    family: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(slots=True)
class Code:
    consent: Consent
    redirect_uri: str
    challenge: str  # of PKCE; empty where the client sent none
    end: float
    is_offline: bool
    is_used: bool = False

    def check_verifier(self, verifier: str) -> None:
        if not self.challenge:
            if verifier:
                raise invalid_grant("code_verifier or verifier is not needed.")
            return
        if not verifier:
            raise invalid_grant("Missing code verifier.")
        if not _VERIFIER.match(verifier) or not hmac.compare_digest(challenge_of(verifier), self.challenge):
            raise invalid_grant("Invalid code verifier.")


@dataclass(slots=True)
class RefreshToken:
    consent: Consent
    end: float | None
    is_revoked: bool = False
    replaced_at: float | None = None  # when it was exchanged for another


@dataclass(slots=True)
class DeviceCode:
    client: str
    scopes: frozenset[str]
    user_code: str
    end: float
    interval: float
    polled_at: float | None = None
    decision: Consent | OAuthError | None = None
    is_used: bool = False


def challenge_of(verifier: str) -> str:
    """S256 of RFC 7636."""
    digest = hashlib.sha256(verifier.encode("ascii", "replace")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
