"""The device flow (RFC 8628): a code is shown, a person enters it elsewhere, the client asks until that is done."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any

from tests.peers.oauth.clients import Client
from tests.peers.oauth.errors import OAuthError, invalid_grant
from tests.peers.oauth.grants import Consent, DeviceCode
from tests.peers.web.messages import Request

if TYPE_CHECKING:
    from tests.peers.oauth.server import FakeAuthorizationServer

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_SLOWER = 5.0  # seconds more after each poll that came too soon


def begin(server: FakeAuthorizationServer, request: Request) -> dict[str, Any]:
    given = request.form()
    client = server.clients.get(given.get("client_id", ""))
    if client is None:
        raise OAuthError("invalid_client", "The OAuth client was not found.", 401)
    scopes = given.get("scope", "").split()
    if not scopes:
        raise OAuthError("invalid_request", "Missing required parameter: scope")
    for scope in scopes:
        if re.match(server.flavour.not_for_devices, scope):
            raise OAuthError("invalid_scope", f"Invalid device flow scope: {scope}")
    device_code = secrets.token_urlsafe(32)
    user_code = "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(2))
    end = server.clock() + server.device_lifetime
    server.device_codes[device_code] = DeviceCode(client.id, frozenset(scopes), user_code, end, server.device_interval)
    page = f"{server.url}/device"
    return {
        "device_code": device_code,
        "user_code": user_code,
        server.flavour.device_field: page,
        "expires_in": int(server.device_lifetime),
        "interval": int(server.device_interval),
    } | ({"message": f"Open {page} and enter {user_code}"} if server.flavour.name == "microsoft" else {})


def settled(server: FakeAuthorizationServer, client: Client, device_code: str) -> Consent:
    """What the person said, once; before that, and for whoever asks too often, an error that says so."""
    asked, now = server.device_codes.get(device_code), server.clock()
    if asked is None or asked.client != client.id or asked.is_used:
        raise invalid_grant("Malformed device code.")
    if now >= asked.end:
        raise OAuthError("expired_token", "The device code has expired.")
    is_early = asked.polled_at is not None and now - asked.polled_at < asked.interval
    asked.polled_at = now
    if is_early:
        asked.interval += _SLOWER
        raise _polled(server, "slow_down")
    if asked.decision is None:
        raise _polled(server, "authorization_pending")
    asked.is_used = True
    if isinstance(asked.decision, OAuthError):
        raise _polled(server, asked.decision.error)
    return asked.decision


def _polled(server: FakeAuthorizationServer, error: str) -> OAuthError:
    return OAuthError(error, status=server.flavour.device_statuses.get(error, 400))
