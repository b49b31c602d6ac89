"""A fake authorisation server on loopback HTTP, after Google's or Microsoft's manner.

    with FakeAuthorizationServer.started() as oauth:                    # flavour=MICROSOFT for the other one
        client = oauth.register("postroom", secret="x")                 # native: any loopback port may be returned to
        oauth.user("alice@gmail.example")
        oauth.deny_next()                                               # or approve_next(user=..., scopes=...)
        ...                                                             # GET oauth.address("authorize"), POST "token"
        gmail = FakeGmail(tokens=oauth.tokens)                          # accepts what this server issues

Whoever asks is approved as the first user (or as ``login_hint``) unless a decision was written down before. A code
lives `code_lifetime` seconds and can be used once: a second use revokes what came of the first. With
`rotates_refresh_tokens` each refresh hands out a new one; the old one, used again after `reuse_grace` seconds, revokes
the whole family. `grant` gives a refresh token without any of it, `enter_device_code` is the person of the device flow,
`revoke_user` is what a changed password does.

Faults, `requests` and `count` are those of `tests.peers.web`; operations are ``authorize``, ``token``, ``device``,
``revoke``, ``userinfo``, ``jwks`` and ``metadata``. `clock` is the time, injectable.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from tests.peers.oauth import authorize, device, exchange, identity
from tests.peers.oauth.clients import Client, new_client
from tests.peers.oauth.errors import OAuthError, PageError
from tests.peers.oauth.flavours import GOOGLE, Flavour
from tests.peers.oauth.grants import Code, Consent, DeviceCode, RefreshToken
from tests.peers.oauth.tokens import AccessTokens
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer, Recorded, Request
from tests.peers.web.peer import WebPeer

_METHODS = {"authorize": ("GET", "POST"), "token": ("POST",), "device": ("POST",), "revoke": ("POST",)}


@dataclass(frozen=True, slots=True)
class Decision:
    approves: bool
    user: str
    scopes: set[str] | None = None  # the only ones granted; None: all that are asked for


class FakeAuthorizationServer(WebPeer):
    def __init__(self, *, flavour: Flavour = GOOGLE, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.flavour, self.clock = flavour, clock
        self.tokens = AccessTokens(clock)
        self.access_lifetime = 3600.0
        self.code_lifetime = 600.0
        self.refresh_lifetime: float | None = None
        self.rotates_refresh_tokens = flavour.rotates_refresh_tokens
        self.reuse_grace = 0.0
        self.device_lifetime, self.device_interval = 1800.0, 5.0
        self.clients: dict[str, Client] = {}
        self.codes: dict[str, Code] = {}
        self.refresh_tokens: dict[str, RefreshToken] = {}
        self.device_codes: dict[str, DeviceCode] = {}
        self._users: list[str] = []
        self._decisions: deque[Decision] = deque()
        self._consented: set[tuple[str, str]] = set()

    @classmethod
    @contextmanager
    def started(cls, **how: Any) -> Iterator[FakeAuthorizationServer]:
        with cls(**how).run() as server:
            yield server

    # What a test author uses

    @property
    def issuer(self) -> str:
        return self.url + self.flavour.issuer

    def address(self, operation: str) -> str:
        place = self.flavour.place(operation)
        assert place is not None, f"{self.flavour.name} has no {operation} endpoint"
        return self.url + place

    def register(
        self,
        client_id: str = "",
        *,
        secret: str | None = None,
        redirect_uris: Iterable[str] = (),
        native: bool = True,
        needs_pkce: bool | None = None,
    ) -> Client:
        """PKCE is required of a native client unless `needs_pkce` says otherwise."""
        client = new_client(client_id, secret, tuple(redirect_uris), native=native, needs_pkce=needs_pkce)
        self.clients[client.id] = client
        return client

    def user(self, address: str) -> str:
        if address not in self._users:
            self._users.append(address)
        return address

    def approve_next(self, user: str = "", scopes: Iterable[str] | None = None) -> None:
        """`scopes`: the person unticks all others."""
        self._decisions.append(Decision(True, user, None if scopes is None else set(scopes)))

    def deny_next(self) -> None:
        self._decisions.append(Decision(False, ""))

    def grant(self, client: Client, user: str, scopes: Iterable[str]) -> str:
        """A refresh token of somebody who consented long ago."""
        with self.lock:
            return exchange.new_refresh_token(self, Consent(client.id, self.user(user), frozenset(scopes)))

    def enter_device_code(
        self, user_code: str, *, approve: bool = True, user: str = "", scopes: Iterable[str] | None = None
    ) -> None:
        with self.lock:
            (asked,) = (one for one in self.device_codes.values() if one.user_code == user_code)
            granted = asked.scopes if scopes is None else asked.scopes & set(scopes)
            consent = Consent(asked.client, user or self._users[0], frozenset(granted))
            asked.decision = consent if approve else OAuthError(self.flavour.device_denied)

    def revoke_user(self, user: str) -> None:
        with self.lock:
            for token in list(self.refresh_tokens.values()):
                if token.consent.user == user:
                    self.revoke_family(token.consent.family)

    # What the endpoints use

    def next_decision(self, login_hint: str) -> Decision:
        decision = self._decisions.popleft() if self._decisions else Decision(True, "")
        known = login_hint if login_hint in self._users else ""
        return Decision(decision.approves, decision.user or known or self._users[0], decision.scopes)

    def is_first_consent(self, consent: Consent) -> bool:
        """Google gives a refresh token only with the first consent, or when asked to ask again."""
        pair = consent.client, consent.user
        is_first = pair not in self._consented or self.flavour.name != "google"
        self._consented.add(pair)
        return is_first

    def revoke_family(self, family: str) -> None:
        self.tokens.revoke_family(family)
        for token in self.refresh_tokens.values():
            if token.consent.family == family:
                token.is_revoked = True

    # How a request is answered

    def operation_of(self, request: Request) -> str:
        return self.flavour.operation(request.path)

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        if request.method not in _METHODS.get(recorded.operation, ("GET",)):
            return Answer(404 if not recorded.operation else 405)
        try:
            return self._by_operation(recorded.operation, request)
        except PageError as error:
            return Answer.of_html(f"<h1>Error {error.status}: {escape(error.error)}</h1>", error.status)
        except OAuthError as error:
            return self._refused(error)

    def _by_operation(self, operation: str, request: Request) -> Answer:
        match operation:
            case "authorize":
                return authorize.authorize(self, request)
            case "token":
                return _kept_secret(exchange.exchange(self, request))
            case "device":
                return _kept_secret(device.begin(self, request))
            case "revoke":
                return self._revoke(request)
            case "userinfo":
                return self._who(request)
            case "jwks":
                return Answer.of_json(identity.published_keys())
            case "metadata":
                return Answer.of_json(self._metadata())
        return Answer(404)

    def _revoke(self, request: Request) -> Answer:
        text = request.form().get("token") or dict(request.params).get("token", "")
        refresh, access = self.refresh_tokens.get(text), self.tokens.find(text)
        family = refresh.consent.family if refresh and not refresh.is_revoked else ""
        if not family and access and not access.is_revoked:
            family = access.family
        if not family:
            raise OAuthError("invalid_token", "Token expired or revoked")
        self.revoke_family(family)
        return Answer.of_json({})

    def _who(self, request: Request) -> Answer:
        token = self.tokens.valid(request.header("authorization").removeprefix("Bearer "))
        if token is None:
            raise OAuthError("invalid_request", "Invalid Credentials", 401)
        return Answer.of_json({"sub": identity.subject_of(token.user), "email": token.user, "email_verified": True})

    def _metadata(self) -> dict[str, Any]:
        names = {
            "authorize": "authorization_endpoint",
            "token": "token_endpoint",
            "device": "device_authorization_endpoint",
            "revoke": "revocation_endpoint",
            "userinfo": "userinfo_endpoint",
            "jwks": "jwks_uri",
        }
        return {
            "issuer": self.issuer,
            **{name: self.address(operation) for operation, name in names.items() if operation in self.flavour.paths},
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", exchange.DEVICE_GRANT],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
        }

    def _refused(self, error: OAuthError) -> Answer:
        return Answer.of_json(self.flavour.shaped(error, self.clock()), error.status)

    def error(self, fault: Fault) -> Answer:
        default = "temporarily_unavailable" if fault.status >= 500 else "invalid_request"
        return self._refused(OAuthError(fault.reason or default, fault.message, fault.status))


def _kept_secret(value: dict[str, Any]) -> Answer:
    return Answer.of_json(value, headers={"cache-control": "no-store", "pragma": "no-cache"})
