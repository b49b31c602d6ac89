"""One ``/mcp`` for every client: session clients get streams, bare JSON-RPC posts get plain JSON.

The SDK serves either sessions or bare posts. Both of its applications are behind this one, over one Gateway; each
request goes to the one that fits:

- a session id, an ``initialize`` or a 2026 request of a client that takes event streams: the one with sessions;
- everything else, in particular ``tools/list`` and ``tools/call`` without a handshake: the stateless one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Message, Receive, Scope, Send

from postroom import __version__
from postroom.doors.mcp.http.guard import MAX_BODY, Guard, problem
from postroom.doors.mcp.server import PostroomServer

EVENT_STREAM = "text/event-stream"
PATH = "/mcp"


def http_app(server: PostroomServer, *, hosts: Iterable[str] = (), tokens: Iterable[str] = ()) -> Guard:
    """The HTTP server as one ASGI application, guard included."""
    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard has done it
    sessions = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=checked, max_request_body_size=MAX_BODY
    )
    stateless = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=checked,
        max_request_body_size=MAX_BODY,
        stateless_http=True,
        json_response=True,
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with sessions.router.lifespan_context(sessions), stateless.router.lifespan_context(stateless):
            yield

    routes = [Route("/healthz", _healthz, methods=["GET"]), Mount("/", app=Switch(sessions, stateless))]
    return Guard(Starlette(routes=routes, lifespan=lifespan), hosts=hosts, tokens=tokens)


class Switch:
    """Chooses the application by what the request is, never by who the client says it is."""

    def __init__(self, sessions: Starlette, stateless: Starlette) -> None:
        self._sessions = sessions
        self._stateless = stateless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._sessions(scope, receive, send)
            return
        message = await receive()
        try:
            posted = _parsed(message["body"])
        except ValueError:
            await problem(400, "Parse error: the body is not valid JSON.", PARSE_ERROR)(scope, receive, send)
            return
        if not isinstance(posted, dict) or posted.keys().isdisjoint(("method", "result", "error")):
            await problem(400, "Invalid request: the body is not one JSON-RPC message.")(scope, receive, send)
            return
        method = posted["method"] if isinstance(posted.get("method"), str) else ""
        target = self._sessions if _belongs_to_a_session(Headers(scope=scope), method) else self._stateless
        if target is self._stateless:
            scope = {**scope, "headers": list(scope["headers"])}
            MutableHeaders(scope=scope)["accept"] = f"application/json, {EVENT_STREAM}"
        await target(scope, _again(message, receive), send)


def _belongs_to_a_session(headers: Headers, method: str) -> bool:
    if "mcp-session-id" in headers:
        return True
    if EVENT_STREAM not in headers.get("accept", ""):
        return False
    version = headers.get("mcp-protocol-version", "")
    return method == "initialize" or (version != "" and version not in HANDSHAKE_PROTOCOL_VERSIONS)


def _parsed(body: bytes) -> Any:
    """ValueError if it is not JSON."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _again(message: Message, receive: Receive) -> Receive:
    pending = [message]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok", "name": "postroom", "version": __version__})
