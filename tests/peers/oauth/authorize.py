"""The authorisation endpoint. What the person says was written down by the test beforehand: approve, or deny."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from tests.peers.oauth.clients import Client
from tests.peers.oauth.errors import OAuthError, PageError
from tests.peers.oauth.grants import Code, Consent
from tests.peers.web.messages import Answer, Request

if TYPE_CHECKING:
    from tests.peers.oauth.server import FakeAuthorizationServer


def authorize(server: FakeAuthorizationServer, request: Request) -> Answer:
    """Back to the client, with a code or with an error; or a page, where no client can be trusted."""
    given = dict(request.params if request.method == "GET" else request.form().items())
    client, redirect_uri = _client(server, given), given.get("redirect_uri", "")
    try:
        told = {"code": _code(server, client, redirect_uri, given)}
    except OAuthError as error:
        told = {"error": error.error} | ({"error_description": error.description} if error.description else {})
    else:
        told |= {"scope": " ".join(sorted(server.codes[told["code"]].consent.scopes))}
    told |= {"state": given["state"]} if "state" in given else {}
    told |= {"iss": server.issuer}
    joint = "&" if urlsplit(redirect_uri).query else "?"
    return Answer(302, b"", {"location": f"{redirect_uri}{joint}{urlencode(told)}"})


def _client(server: FakeAuthorizationServer, given: dict[str, str]) -> Client:
    client = server.clients.get(given.get("client_id", ""))
    if client is None:
        raise PageError("invalid_client", 401)
    if not client.may_return_to(given.get("redirect_uri", ""), any_path=server.flavour.any_loopback_path):
        raise PageError("redirect_uri_mismatch")
    return client


def _code(server: FakeAuthorizationServer, client: Client, redirect_uri: str, given: dict[str, str]) -> str:
    if given.get("response_type") != "code":
        raise OAuthError("unsupported_response_type")
    scopes = set(given.get("scope", "").split())
    if not scopes:
        raise OAuthError("invalid_scope", "Missing required parameter: scope")
    challenge = _challenge(client, given)
    decision = server.next_decision(given.get("login_hint", ""))
    if not decision.approves:
        raise OAuthError("access_denied")
    granted = scopes if decision.scopes is None else scopes & decision.scopes
    if not granted:
        raise OAuthError("access_denied")
    consent = Consent(client.id, decision.user, frozenset(granted), given.get("nonce", ""))
    code = "4/0A" + secrets.token_urlsafe(32)
    is_offline = server.flavour.wants_refresh_token(granted, given.get("access_type", ""))
    is_first = server.is_first_consent(consent) or "consent" in given.get("prompt", "").split()
    server.codes[code] = Code(
        consent, redirect_uri, challenge, server.clock() + server.code_lifetime, is_offline and is_first
    )
    return code


def _challenge(client: Client, given: dict[str, str]) -> str:
    challenge, method = given.get("code_challenge", ""), given.get("code_challenge_method", "plain")
    if challenge and method != "S256":
        raise OAuthError("invalid_request", "Only S256 is supported")
    if challenge and not re.fullmatch(r"[A-Za-z0-9_-]{43}", challenge):
        raise OAuthError("invalid_request", "code_challenge is not what S256 makes of a verifier")
    if client.needs_pkce and not challenge:
        raise OAuthError("invalid_request", "Missing required parameter: code_challenge")
    return challenge
