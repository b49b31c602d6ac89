"""The checks every HTTP request passes before anything reads it: framing, host, origin, token, rate, size.

The SDK guards only its own route and only when bound to loopback; this guard covers all routes.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.doors.mcp.http.callers import ADMITTED, CALLER, CLIENT, MISSING, Caller, Callers
from postroom.doors.mcp.http.challenges import identify, token_missing
from postroom.doors.mcp.http.problems import problem, wait
from postroom.doors.mcp.http.rate import RequestRate

MAX_BODY = 4 * 1024 * 1024  # unless a dialect takes files within a call
LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN_PATHS = frozenset({"/healthz", "/readyz"})  # reveal nothing that needs a token


class Guard:
    """ASGI middleware. What it admits carries its client in the scope, under `CLIENT`, and no token any more."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str],
        callers: Callers,
        rate: RequestRate,
        max_body: int = MAX_BODY,
    ) -> None:
        self._app = app
        self._max_body = max_body
        self._hosts = {host.casefold() for host in (*LOOPBACK, *hosts)}
        self._callers = callers
        self._rate = rate
        self._open = OPEN_PATHS | set(callers.authorization.paths if callers.authorization else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = await self._refused(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        if scope["path"] in self._open:  # nobody is known there, so nothing that was sent is kept
            await self._app(_without_token(scope), _replaying(b"", receive), send)
            return
        body = await _read_body(receive, self._max_body)
        if body is None:
            return  # the client is gone, and half a request asks for nothing
        if len(body) > self._max_body:
            await _too_large(self._max_body)(scope, receive, send)
            return
        if not self._callers.still_admit(scope[ADMITTED]):
            await token_missing(self._callers)(scope, receive, send)
            return
        await self._app(_without_token(scope), _replaying(body, receive), send)

    async def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        at_once = _ambiguous(headers) or self._misdirected(headers)
        return at_once or await self._not_admitted(scope, headers) or self._too_long(headers)

    def _misdirected(self, headers: Headers) -> Response | None:
        if not self._is_ours(headers.get("host", "")):
            return problem(421, "This host name is not served here. The operator can add it to server.allowed_hosts.")
        if not all(self._is_ours(_host_of(origin)) for origin in headers.getlist("origin")):
            return problem(403, "Requests from this web origin are refused.")
        return None

    async def _not_admitted(self, scope: Scope, headers: Headers) -> Response | None:
        if scope["path"] in self._open:
            return None
        caller = await identify(self._callers, headers.getlist("authorization"))
        if not isinstance(caller, Caller):
            return caller
        scope[ADMITTED], scope[CLIENT], scope[MISSING] = caller, caller.client, caller.missing
        scope[CALLER] = caller.name or (scope.get("client") or ("",))[0]
        seconds = self._rate.seconds_to_wait(scope[CALLER])
        return wait(429, "Too many requests from this client.", seconds) if seconds else None

    def _too_long(self, headers: Headers) -> Response | None:
        length = headers.get("content-length", "0")
        return _too_large(self._max_body) if length.isdecimal() and int(length) > self._max_body else None

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name is not None and "@" not in host and name.casefold() in self._hosts


def _ambiguous(headers: Headers) -> Response | None:
    """Two lengths (RFC 9112, 6.1): a proxy may have gone by the other, and would take the rest of this request for the
    next one, of another client. So the connection ends."""
    if not ("transfer-encoding" in headers and "content-length" in headers):
        return None
    refusal = problem(400, "Send Content-Length or Transfer-Encoding, not both.")
    refusal.headers["connection"] = "close"
    return refusal


def _host_of(origin: str) -> str:
    """Empty if it names none that can be understood."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _too_large(limit: int) -> Response:
    return problem(413, f"The request is larger than {limit // 2**20} MB. Send less; attach files by path.")


def _without_token(scope: Scope) -> Scope:
    """What comes after this has no use for it."""
    return {**scope, "headers": [header for header in scope["headers"] if header[0] != b"authorization"]}


async def _read_body(receive: Receive, limit: int) -> bytes | None:
    """The whole body, or its beginning once it is too large. None if the client disconnected before its end, or was
    too slow."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > limit or not message.get("more_body", False):
            return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
