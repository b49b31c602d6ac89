"""The public keys of the authorisation server: fetched when they are first needed, cached, and fetched again when a
token names one that is not among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import jwt

from postroom.doors.mcp.http.oauth.fetching import CannotFetch, fetch_json
from postroom.doors.mcp.http.oauth.refusals import KeysUnavailable, TokenRefused
from postroom.doors.mcp.log import log
from postroom.settings.authorization import AuthorizationSettings

if TYPE_CHECKING:
    import httpx2

FRESH_SECONDS = 600.0
STALE_SECONDS = 86_400.0  # how long keys are used that cannot be fetched again
PAUSE_SECONDS = 30.0  # between two fetches, so that tokens with invented keys cause no flood
PAUSE_AFTER_FAILURE = 5.0
SMALLEST_RSA_KEY = 2048
MOST_KEYS = 100

_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}


class Keys:
    def __init__(
        self,
        settings: AuthorizationSettings,
        new_client: Callable[[], httpx2.AsyncClient],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._new_client = new_client
        self._clock = clock
        self._known: list[Mapping[str, Any]] = []
        self._fetched_at = self._next_fetch_at = float("-inf")
        self._fetching = anyio.Lock()

    async def find(self, key_id: str | None, algorithm: str) -> jwt.PyJWK:
        """KeysUnavailable if there are none; TokenRefused if there is none for this token."""
        found = self._fitting(key_id, algorithm)
        is_fresh = self._clock() - self._fetched_at <= FRESH_SECONDS
        # An authorisation server that hangs keeps one request waiting, not all whose key is known.
        if not (found and (is_fresh or self._fetching.locked())):
            await self._fetch()
            found = self._fitting(key_id, algorithm)
        if self._clock() - self._fetched_at > STALE_SECONDS:
            raise KeysUnavailable(max(1.0, self._next_fetch_at - self._clock()))
        if len(found) != 1:  # several only where the token does not say which
            raise TokenRefused("unknown key")
        return found[0]

    def _fitting(self, key_id: str | None, algorithm: str) -> list[jwt.PyJWK]:
        named = [key for key in self._known if key_id is None or key.get("kid") == key_id]
        return [key for key in (_usable(each, algorithm) for each in named) if key is not None]

    async def _fetch(self) -> None:
        """One at a time; those who waited meanwhile find it done."""
        async with self._fetching:
            if self._clock() < self._next_fetch_at:
                return
            self._next_fetch_at = self._clock() + PAUSE_AFTER_FAILURE
            try:
                async with self._new_client() as client:
                    published = await fetch_json(client, await self._address(client))
                self._known = [key for key in published["keys"][:MOST_KEYS] if isinstance(key, dict)]
            except (CannotFetch, KeyError, TypeError):
                log.warning("keys_unavailable")
                self._next_fetch_at = self._clock() + PAUSE_AFTER_FAILURE  # after its end, which may be late
                return
            self._fetched_at = self._clock()
            self._next_fetch_at = self._fetched_at + PAUSE_SECONDS

    async def _address(self, client: httpx2.AsyncClient) -> str:
        if self._settings.jwks_url:
            return self._settings.jwks_url
        for address in _metadata_addresses(self._settings.issuer):
            try:
                metadata = await fetch_json(client, address)
            except CannotFetch:
                continue
            if metadata.get("issuer") == self._settings.issuer and _is_encrypted(metadata.get("jwks_uri")):
                return str(metadata["jwks_uri"])
        raise CannotFetch


def _metadata_addresses(issuer: str) -> list[str]:
    """RFC 8414, then OpenID Connect, which puts the path of the issuer first."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
        *([f"{origin}{path}/.well-known/openid-configuration"] if path else []),
    ]


def _is_encrypted(address: Any) -> bool:
    from postroom.settings.oauth import check_endpoint

    try:
        return isinstance(address, str) and bool(check_endpoint(address))
    except ValueError:
        return False


def _usable(key: Mapping[str, Any], algorithm: str) -> jwt.PyJWK | None:
    """A public key for signatures of just this algorithm. A key may serve several, unless it names one."""
    curve = _CURVES.get(algorithm)
    kind = "RSA" if curve is None else "OKP" if algorithm == "EdDSA" else "EC"
    if (
        key.get("kty") != kind
        or key.get("use", "sig") != "sig"
        or "verify" not in key.get("key_ops", ["verify"])
        or key.get("alg", algorithm) != algorithm
        or (curve is not None and key.get("crv") != curve)
        or "d" in key
    ):
        return None
    try:
        read = jwt.PyJWK(dict(key), algorithm)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return read if kind != "RSA" or read.key.key_size >= SMALLEST_RSA_KEY else None
