"""One ``/mcp`` for every client: session clients get streams, bare JSON-RPC posts get plain JSON.

The SDK serves either sessions or bare posts. Both of its applications are behind `McpApp`, over one Gateway; each
request goes where it fits:

- a session id, an ``initialize`` or a 2026 request of a client that takes event streams: the application with sessions,
  unless it is the id of no session: that is answered here, in the words by which clients know it;
- another request, in particular ``tools/list`` and ``tools/call`` without a handshake: answered by itself (`single`);
- what is left, notifications and 2026 requests of clients that take no event streams: the stateless application.

A client with settings of its own has a `McpApp` of its own: its sessions are known there and nowhere else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INTERNAL_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from postroom.doors.mcp.http.admission import RETRY_SECONDS, Admission, Busy
from postroom.doors.mcp.http.callers import CALLER, MISSING, Callers
from postroom.doors.mcp.http.challenges import scope_missing
from postroom.doors.mcp.http.guard import MAX_BODY, Guard
from postroom.doors.mcp.http.health import health_routes
from postroom.doors.mcp.http.per_client import PerClient, ServerFor
from postroom.doors.mcp.http.posted import read_posted
from postroom.doors.mcp.http.problems import problem, wait
from postroom.doors.mcp.http.rate import RequestRate
from postroom.doors.mcp.http.request_ids import RequestIds
from postroom.doors.mcp.http.single import SingleRequests, is_single
from postroom.doors.mcp.sdk_internals import close_standing_streams, has_session, make_room_for_a_session
from postroom.doors.mcp.server import PostroomServer
from postroom.settings import SettingsError
from postroom.settings.clients import Client

EVENT_STREAM = "text/event-stream"
PATH = "/mcp"
LISTEN = "subscriptions/listen"  # stays open, and does nothing
SESSION = "mcp-session-id"
MOST_SESSIONS = 1000  # of one application; each takes 40 KB
NO_SESSION = -32001  # by which clients know that they have to begin anew: the TypeScript SDK's code
SESSION_OVER = "Session not found: it has ended, perhaps by a restart; nothing was done. Connect again (initialize)."
BUSY = "The server is busy, and nothing was done."
ID_IN_USE = "Invalid request: another request with the same id is in progress. Give each an id of its own."


def http_app(
    server: PostroomServer,
    *,
    hosts: Iterable[str] = (),
    callers: Callers | None = None,
    requests_per_minute: int = 0,
    calls_at_once: int = 0,
    server_for: ServerFor | None = None,
) -> HttpApp:
    """The HTTP server as one ASGI application, guard included. `server_for` builds the server of one client."""
    callers, admission = callers or Callers(), Admission(calls_at_once)
    server.metrics.turned_away = lambda: admission.turned_away
    per_client = PerClient(
        McpApp(server, callers, admission),
        callers,
        lambda client: McpApp((server_for or _no_clients)(client), callers, admission),
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with admission.open(), per_client.running():
            yield

    metadata = callers.authorization.routes() if callers.authorization else []
    routes = [*health_routes(server), *metadata, Mount("/", app=per_client)]
    guard = Guard(
        Starlette(routes=routes, lifespan=lifespan),
        hosts=hosts,
        callers=callers,
        rate=RequestRate(requests_per_minute),
        max_body=max(MAX_BODY, server.request_bytes),
    )
    return HttpApp(guard, per_client.close_streams)


@dataclass(frozen=True, slots=True)
class HttpApp:
    guard: Guard
    close_streams: Callable[[], None]  # otherwise a shutdown would wait for clients that listen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.guard(scope, receive, send)


def _no_clients(client: Client) -> PostroomServer:
    raise SettingsError(f"This server has no settings for client {client.name}.")


class McpApp:
    """One server over HTTP: the SDK's application is chosen by what the request is, never by who the client says it
    is."""

    def __init__(self, server: PostroomServer, callers: Callers, admission: Admission) -> None:
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard has done it
        largest = max(MAX_BODY, server.request_bytes)
        self._server = server
        self._callers = callers
        self._admission = admission
        self._ids = RequestIds()
        self._single = SingleRequests(server)
        self._sessions = server.streamable_http_app(
            streamable_http_path=PATH, transport_security=checked, max_request_body_size=largest
        )
        self._manager = server.session_manager  # of the application built last
        self._stateless = server.streamable_http_app(
            streamable_http_path=PATH,
            transport_security=checked,
            max_request_body_size=largest,
            stateless_http=True,
            json_response=True,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        sessions, stateless = self._sessions, self._stateless
        async with (
            sessions.router.lifespan_context(sessions),
            stateless.router.lifespan_context(stateless),
            self._single.running(),
        ):
            yield

    def close_streams(self) -> None:
        if self._server.listening is not None:
            self._server.listening.close()
        close_standing_streams(self._manager)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == f"{PATH}/":  # a redirect would go astray behind a proxy, and take the token along
            scope = {**scope, "path": PATH, "raw_path": PATH.encode()}
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != PATH:
            await self._sessions(scope, receive, send)
            return
        message, headers = await receive(), Headers(scope=scope)
        posted = read_posted(headers, message["body"])
        if isinstance(posted, Response):
            await posted(scope, receive, send)
            return
        session = headers.get(SESSION)
        if session is not None and not _has_no_sessions(headers) and not has_session(self._manager, session):
            await problem(404, SESSION_OVER, NO_SESSION, posted.get("id"))(scope, receive, send)
            return
        with self._ids.taken(session, posted) as is_free:
            if is_free:
                await self._in_turn(posted, scope, _again(message, receive), send)
            else:
                await problem(400, ID_IN_USE)(scope, receive, send)

    async def _in_turn(self, posted: Mapping[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
        """Responses and notifications do not wait: a call that is in progress may be waiting for them."""
        if "id" not in posted or posted.get("method", LISTEN) == LISTEN:
            await self._post(posted, scope, receive, send)
            return
        try:
            async with self._admission.turn(scope.get(CALLER, "")):
                await self._post(posted, scope, receive, send)
        except Busy:
            await wait(503, BUSY, RETRY_SECONDS, INTERNAL_ERROR, posted["id"])(scope, receive, send)

    async def _post(self, posted: Mapping[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
        missing = scope.get(MISSING, {}).get(self._server.toolset_called(posted), "")
        if missing:
            await scope_missing(self._callers, missing)(scope, receive, send)
            return
        headers = Headers(scope=scope)
        method = posted.get("method", "")
        if _belongs_to_a_session(headers, method):
            if method == "initialize":
                await make_room_for_a_session(self._manager, MOST_SESSIONS)
            await self._sessions(scope, receive, send)
            return
        if is_single(headers, posted):
            await self._single(posted, scope, receive, send)
            return
        scope = {**scope, "headers": list(scope["headers"])}
        MutableHeaders(scope=scope)["accept"] = f"application/json, {EVENT_STREAM}"
        await self._stateless(scope, receive, send)


def _belongs_to_a_session(headers: Headers, method: str) -> bool:
    if SESSION in headers:
        return True
    if EVENT_STREAM not in headers.get("accept", ""):
        return False
    return method == "initialize" or _has_no_sessions(headers)


def _has_no_sessions(headers: Headers) -> bool:
    """Of the era after them."""
    version = headers.get("mcp-protocol-version", "")
    return version != "" and version not in HANDSHAKE_PROTOCOL_VERSIONS


def _again(message: Message, receive: Receive) -> Receive:
    pending = [message]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
