"""A small authorisation server on loopback: a page that logs in whoever comes, tokens that rotate, codes for devices.

Used only through `Authorisation`, so that another server with the same few attributes can stand in for it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit


class Authorisation:
    """`rotates`: each refresh gives a new refresh token and voids the one before. `answers` are given first, as
    (status, object), in place of what the token endpoint would say."""

    def __init__(self) -> None:
        self.url = ""
        self.client_id, self.client_secret = "client-1", ""
        self.rotates = True
        self.denies = False
        self.lifetime: Any = 3600
        self.granted_scope = ""  # told with the tokens
        self.make_access_token: Callable[[], str] = lambda: f"access-{secrets.token_hex(8)}"
        self.answers: list[tuple[int, Any]] = []
        self.forms: list[dict[str, str]] = []
        self.authorised: list[dict[str, str]] = []
        self.refresh_tokens: set[str] = set()
        self.device_pending: list[str] = []
        self.on_token: Callable[[], None] = lambda: None
        self._codes: dict[str, tuple[str, str]] = {}
        self._lock = threading.Lock()

    @property
    def refreshes(self) -> list[dict[str, str]]:
        return [form for form in self.forms if form.get("grant_type") == "refresh_token"]

    def settings(self, **changes: Any) -> dict[str, Any]:
        """An `oauth` table that leads here."""
        return {
            "service": "other",
            "client_id": self.client_id,
            "scopes": ["mail"],
            "authorize_url": f"{self.url}/authorize",
            "token_url": f"{self.url}/token",
            "device_url": f"{self.url}/device",
            **changes,
        }

    def issue(self) -> str:
        """A refresh token as an earlier login would have left it."""
        token = f"refresh-{secrets.token_hex(8)}"
        self.refresh_tokens.add(token)
        return token

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent."""
        self.authorised.append(asked)
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        if self.denies:
            return f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': asked['state']})}"
        code = secrets.token_hex(8)
        self._codes[code] = (asked["code_challenge"], asked["redirect_uri"])
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, form: dict[str, str]) -> tuple[int, Any]:
        with self._lock:
            self.forms.append(form)
            self.on_token()
            if self.answers:
                return self.answers.pop(0)
            if form.get("client_id") != self.client_id or form.get("client_secret", "") != self.client_secret:
                return 401, {"error": "invalid_client"}
            return self._granted(form)

    def _granted(self, form: dict[str, str]) -> tuple[int, Any]:
        kind = form["grant_type"]
        if kind == "refresh_token":
            return self._refreshed(form["refresh_token"])
        if kind == "authorization_code":
            challenge, redirect = self._codes.pop(form["code"], ("", ""))
            proof = hashlib.sha256(form["code_verifier"].encode()).digest()
            proven = base64.urlsafe_b64encode(proof).rstrip(b"=").decode() == challenge
            return self._tokens(self.issue()) if proven and form["redirect_uri"] == redirect else _INVALID
        if self.device_pending:
            return 400, {"error": self.device_pending.pop(0)}
        return self._tokens(self.issue())

    def _refreshed(self, token: str) -> tuple[int, Any]:
        if token not in self.refresh_tokens:
            return _INVALID
        if not self.rotates:
            return self._tokens("")
        self.refresh_tokens.remove(token)
        return self._tokens(self.issue())

    def _tokens(self, refresh: str) -> tuple[int, Any]:
        answer = {"access_token": self.make_access_token(), "token_type": "Bearer", "expires_in": self.lifetime}
        scope = {"scope": self.granted_scope} if self.granted_scope else {}
        return 200, {**answer, **scope, **({"refresh_token": refresh} if refresh else {})}

    def device(self, form: dict[str, str]) -> tuple[int, Any]:
        self.forms.append(form)
        page = {"verification_uri": f"{self.url}/activate", "user_code": "ABCD-EFGH", "device_code": "device-1"}
        return 200, {**page, "interval": 5, "expires_in": 60}


_INVALID = 400, {"error": "invalid_grant", "error_description": "CANARY alice@example.com"}


@contextmanager
def authorising() -> Iterator[Authorisation]:
    told = Authorisation()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path)
            self.send_response(302)
            self.send_header("Location", told.authorize(dict(parse_qsl(place.query))))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = dict(parse_qsl(body))
            status, found = told.token(form) if self.path == "/token" else told.device(form)
            text = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
