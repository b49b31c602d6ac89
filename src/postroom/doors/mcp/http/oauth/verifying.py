"""Whether an access token is valid here: RFC 9068 as far as issuers follow it, RFC 8707 for the audience."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from postroom.doors.mcp.http.oauth.keys import Keys
from postroom.doors.mcp.http.oauth.refusals import Reason, TokenRefused
from postroom.settings.authorization import AuthorizationSettings

MAX_CHARS = 8192
LEEWAY_SECONDS = 30.0  # clocks of two machines differ
# RFC 9068 wants `at+jwt`, which Entra ID, Auth0 and Keycloak do not write.
_TYPES = ("", "jwt", "at+jwt", "application/at+jwt")
_REFUSALS: tuple[tuple[type[Exception], Reason], ...] = (
    (jwt.ExpiredSignatureError, "expired"),
    (jwt.ImmatureSignatureError, "not yet valid"),
    (jwt.InvalidAudienceError, "audience"),
    (jwt.InvalidIssuerError, "issuer"),
    (jwt.InvalidSignatureError, "signature"),
    (jwt.InvalidAlgorithmError, "algorithm"),
)
_UNREADABLE = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Bearer:
    subject: str
    client: str  # empty where the token names none
    scopes: frozenset[str]
    expires: float  # seconds since 1970


class Verifier:
    def __init__(self, settings: AuthorizationSettings, keys: Keys) -> None:
        self._settings = settings
        self._keys = keys

    async def verify(self, token: str) -> Bearer:
        """TokenRefused if it is not valid, KeysUnavailable if nobody can tell."""
        algorithm, key_id = self._signed_with(token)
        key = await self._keys.find(key_id, algorithm)
        claims = self._claims(token, key, algorithm)
        if "cnf" in claims:  # whoever stole it could use it as well
            raise TokenRefused("bound")
        return Bearer(claims["sub"], _client(claims), _scopes(claims), float(claims["exp"]))

    def _signed_with(self, token: str) -> tuple[str, str | None]:
        """By the header, which nobody has vouched for yet: it chooses among what the settings allow."""
        if len(token) > MAX_CHARS:
            raise TokenRefused("malformed")
        try:
            header = jwt.get_unverified_header(token)
        except _UNREADABLE:
            raise TokenRefused("malformed") from None
        algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ", "")
        if algorithm not in self._settings.algorithms:
            raise TokenRefused("algorithm")
        if not isinstance(kind, str) or kind.casefold() not in _TYPES:
            raise TokenRefused("type")
        if key_id is not None and not isinstance(key_id, str):
            raise TokenRefused("malformed")
        return algorithm, key_id

    def _claims(self, token: str, key: jwt.PyJWK, algorithm: str) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._settings.accepted_audiences,
                issuer=self._settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except _UNREADABLE as problem:
            reasons = [reason for kind, reason in _REFUSALS if isinstance(problem, kind)]
            raise TokenRefused(reasons[0] if reasons else "claims") from None
        if not claims["sub"]:
            raise TokenRefused("claims")
        return claims


def _client(claims: Mapping[str, Any]) -> str:
    """`azp` is OpenID Connect's name for it, `appid` that of Entra ID's older tokens."""
    named = [claims.get(name) for name in ("client_id", "azp", "appid")]
    return next((name for name in named if isinstance(name, str) and name), "")


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """A text with spaces between, or a list: `scp` is Entra ID's and Okta's name for it."""
    scopes: set[str] = set()
    for name in ("scope", "scp"):
        value = claims.get(name, "")
        scopes.update(value.split() if isinstance(value, str) else [each for each in value if isinstance(each, str)])
    return frozenset(scopes)
