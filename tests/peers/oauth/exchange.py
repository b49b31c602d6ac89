"""The token endpoint: codes, refresh tokens and device codes for access tokens."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.peers.oauth.clients import Client
from tests.peers.oauth.device import settled
from tests.peers.oauth.errors import OAuthError, invalid_grant
from tests.peers.oauth.grants import Consent, RefreshToken
from tests.peers.oauth.identity import id_token
from tests.peers.web.messages import Request

if TYPE_CHECKING:
    from tests.peers.oauth.server import FakeAuthorizationServer

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_REVOKED = "Token has been expired or revoked."


def exchange(server: FakeAuthorizationServer, request: Request) -> dict[str, Any]:
    given = request.form()
    client = authenticated(server, request, given)
    match given.get("grant_type", ""):
        case "authorization_code":
            return _by_code(server, client, given)
        case "refresh_token":
            return _by_refresh_token(server, client, given)
        case grant if grant == DEVICE_GRANT:
            consent = settled(server, client, given.get("device_code", ""))
            return _issued(server, consent, consent.scopes, new_refresh_token(server, consent))
    raise OAuthError("unsupported_grant_type", "Invalid grant_type")


def authenticated(server: FakeAuthorizationServer, request: Request, given: dict[str, str]) -> Client:
    """By Basic or by fields of the form. A client without a secret may not send one."""
    name, secret = _basic(request) or (given.get("client_id", ""), given.get("client_secret", ""))
    client = server.clients.get(name)
    if client is None:
        raise OAuthError("invalid_client", "The OAuth client was not found.", 401)
    if client.secret is not None and not secret:
        raise OAuthError("invalid_request", "client_secret is missing.")
    if (client.secret or "") != secret:
        raise OAuthError("invalid_client", "The provided client secret is invalid.", 401)
    return client


def _basic(request: Request) -> tuple[str, str] | None:
    scheme, _, value = request.header("authorization").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, secret = base64.b64decode(value).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise OAuthError("invalid_client", "Invalid Basic credentials.", 401) from None
    return unquote(name), unquote(secret)


def _by_code(server: FakeAuthorizationServer, client: Client, given: dict[str, str]) -> dict[str, Any]:
    code = server.codes.get(given.get("code", ""))
    if code is None or code.consent.client != client.id:
        raise invalid_grant("Malformed auth code.")
    if code.is_used:
        server.revoke_family(code.consent.family)  # somebody else has it, too
        raise invalid_grant("Bad Request")
    if server.clock() >= code.end:
        raise invalid_grant("Bad Request")
    if given.get("redirect_uri", "") != code.redirect_uri:
        if server.flavour.name == "google":
            raise OAuthError("redirect_uri_mismatch", "Bad Request")
        raise invalid_grant("The redirect URI does not match the one of the authorization request.")
    code.check_verifier(given.get("code_verifier", ""))
    code.is_used = True
    refresh = new_refresh_token(server, code.consent) if code.is_offline else ""
    return _issued(server, code.consent, code.consent.scopes, refresh)


def _by_refresh_token(server: FakeAuthorizationServer, client: Client, given: dict[str, str]) -> dict[str, Any]:
    text = given.get("refresh_token", "")
    token, now = server.refresh_tokens.get(text), server.clock()
    if token is None or token.is_revoked or token.consent.client != client.id:
        raise invalid_grant(_REVOKED)
    if token.end is not None and now >= token.end:
        raise invalid_grant(_REVOKED)
    if token.replaced_at is not None and now >= token.replaced_at + server.reuse_grace:
        server.revoke_family(token.consent.family)
        raise invalid_grant(_REVOKED)
    scopes = frozenset(given.get("scope", "").split()) or token.consent.scopes
    if not scopes <= token.consent.scopes:
        raise OAuthError("invalid_scope", "Some requested scopes were invalid.")
    refresh = ""
    if server.rotates_refresh_tokens:
        token.replaced_at = now if token.replaced_at is None else token.replaced_at
        refresh = new_refresh_token(server, token.consent)
    return _issued(server, token.consent, scopes, refresh)


def new_refresh_token(server: FakeAuthorizationServer, consent: Consent) -> str:
    end = None if server.refresh_lifetime is None else server.clock() + server.refresh_lifetime
    text = "1//0" + secrets.token_urlsafe(48)
    server.refresh_tokens[text] = RefreshToken(consent, end)
    return text


def _issued(
    server: FakeAuthorizationServer, consent: Consent, scopes: frozenset[str], refresh_token: str
) -> dict[str, Any]:
    token = server.tokens.issue(
        consent.user, scopes, lifetime=server.access_lifetime, client=consent.client, family=consent.family
    )
    value: dict[str, Any] = {
        "access_token": token.text,
        "expires_in": int(server.access_lifetime),
        "scope": " ".join(sorted(scopes - {"offline_access"})),
        "token_type": "Bearer",
    }
    if refresh_token:
        value["refresh_token"] = refresh_token
        if server.refresh_lifetime is not None and server.flavour.name == "google":
            value["refresh_token_expires_in"] = int(server.refresh_lifetime)
    if "openid" in scopes:
        now = server.clock()
        value["id_token"] = id_token(
            server.issuer, consent.client, consent.user, consent.nonce, now, server.access_lifetime
        )
    return value
