"""Login in a browser: from the service's page to a code, from the code to tokens (RFC 6749, 7636, 8252)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from postroom.model.errors import AuthRequired, InvalidRequest
from postroom.providers.oauth.grants import Granted, Refused, ask_for_tokens

if TYPE_CHECKING:
    import httpx2

    from postroom.providers.oauth.services import Service

_LONGEST = 4096  # characters of pasted text
_TENANT = "Set the endpoints of its tenant (docs/providers/graph.md)."
_CONSENT = "An administrator of the organisation has to consent to this app first."
# What Microsoft's numbers mean to somebody who sets up an account.
_MICROSOFT = {
    50020: f"The account belongs to another organisation than the app. {_TENANT}",
    50194: f"The app is registered for one organisation only. {_TENANT}",
    53003: "A rule of the organisation (Conditional Access) does not allow this login. Ask its administrator.",
    65001: _CONSENT,
    90002: "There is no such tenant. Check its id in the endpoints of this account.",
    90094: _CONSENT,
    700016: f"That organisation has no app with this client id. Check client_id, or: {_TENANT}",
    7000218: 'In the app registration, under Authentication, set "Allow public client flows" to Yes.',
}


@dataclass(frozen=True, slots=True)
class Client:
    """The program's own id at the service. `secret` is often empty."""

    client_id: str
    secret: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One login attempt. `state` comes back with the code and shows that it belongs to this attempt; `verifier` proves
    to the service that the code is used by the program that requested it."""

    service: Service
    client: Client
    redirect_uri: str
    state: str
    verifier: str
    url: str

    def is_own(self, state: str) -> bool:
        return hmac.compare_digest(state.encode(), self.state.encode())


def begin(service: Service, client: Client, scopes: Sequence[str], redirect_uri: str, *, address: str = "") -> Attempt:
    if not service.authorize_url:
        raise InvalidRequest("This service has no login page: oauth.authorize_url is not set.")
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    parameters = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(scopes),
        "state": state,
        "code_challenge": _challenge(verifier),
        "code_challenge_method": "S256",
        **({"login_hint": address} if address else {}),
        **service.parameters,
    }
    joint = "&" if "?" in service.authorize_url else "?"
    return Attempt(
        service, client, redirect_uri, state, verifier, f"{service.authorize_url}{joint}{urlencode(parameters)}"
    )


async def finish(http: httpx2.AsyncClient, attempt: Attempt, code: str) -> Granted:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "client_id": attempt.client.client_id,
        "client_secret": attempt.client.secret,
        "code_verifier": attempt.verifier,
    }
    try:
        granted = await ask_for_tokens(http, attempt.service.token_url, form)
    except Refused as refused:
        raise login_refused(refused.error, refused.number) from None
    return with_refresh_token(granted)


def code_in(attempt: Attempt, redirected: Mapping[str, str]) -> str:
    """The code from the redirect. InvalidRequest when it does not belong to this attempt."""
    if not attempt.is_own(redirected.get("state", "")):
        raise InvalidRequest("This response belongs to another login (its state differs) and was rejected.")
    if error := redirected.get("error", ""):
        raise login_refused(error)
    if not (code := redirected.get("code", "")):
        raise InvalidRequest("The service returned no code.")
    return code


def pasted_code(attempt: Attempt, text: str) -> str:
    """The address that the browser was sent to, or the code alone as some services show it."""
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.isprintable():
        raise InvalidRequest("That is neither the address of the last page nor a code.")
    if "://" not in text and "code=" not in text:
        return text
    query = urlsplit(text).query if "://" in text else text.lstrip("?")
    return code_in(attempt, dict(parse_qsl(query)))


def login_refused(error: str, number: int = 0) -> AuthRequired:
    if number in _MICROSOFT:
        return AuthRequired(f"The service refused the login (AADSTS{number}). {_MICROSOFT[number]}")
    if error in ("access_denied", "authorization_declined", "consent_required"):
        return AuthRequired("Access was denied on the service's login page.")
    if error in ("invalid_client", "unauthorized_client"):
        return AuthRequired("The service does not accept the client id or its secret. Check both and the redirect URI.")
    known = error if error.isascii() and error.replace("_", "").isalnum() and len(error) <= 60 else "no reason given"
    shown = f"{known}, AADSTS{number}" if number else known
    return AuthRequired(f"The service refused the login ({shown}).")


def with_refresh_token(granted: Granted) -> Granted:
    if not granted.refresh_token:
        raise AuthRequired(
            "The service gave an access token but no refresh token. Remove Postroom's access on the service's page "
            "of connected apps, then log in again."
        )
    return granted


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
