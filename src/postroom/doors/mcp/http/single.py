"""A request without a session: one message in, one message out, as plain JSON.

The SDK's stateless application starts a server of its own for every such request, with its tasks and streams, and that
takes longer than most tool calls. Its driver for a single request needs none of them. What is checked, how a call is
carried out and how its result is shaped is the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, INTERNAL_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from postroom.doors.mcp.http.posted import is_request
from postroom.doors.mcp.http.problems import problem
from postroom.doors.mcp.sdk_internals import error_of, lowlevel_server
from postroom.doors.mcp.server import PostroomServer

VERSION = "mcp-protocol-version"
CUT_OFF = "The server ended this request. Check what was done before you repeat it."
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)


def is_single(headers: Headers, message: Mapping[str, Any]) -> bool:
    """A request of the eras that the SDK's driver does not have to be told the client's capabilities for."""
    return is_request(message) and headers.get(VERSION, DEFAULT_NEGOTIATED_VERSION) in HANDSHAKE_PROTOCOL_VERSIONS


class SingleRequests:
    """Answers them while it is running; what is still in progress at the end is cut off."""

    def __init__(self, server: PostroomServer) -> None:
        self._server = server
        self._in_progress: set[anyio.CancelScope] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            for each in self._in_progress:
                each.cancel()

    async def __call__(self, message: Mapping[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
        answer: Response | None = None
        with anyio.CancelScope() as own:
            self._in_progress.add(own)
            try:
                answer = await self._answer(message, Request(scope))
            finally:
                self._in_progress.discard(own)
        await (answer or problem(500, CUT_OFF, INTERNAL_ERROR, message["id"]))(scope, receive, send)

    async def _answer(self, message: Mapping[str, Any], request: Request) -> Response:
        version = request.headers.get(VERSION, DEFAULT_NEGOTIATED_VERSION)
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = await serve_one(
                lowlevel_server(self._server),
                _Exchange(message["id"], ServerMessageMetadata(request_context=request)),
                message["method"],
                message.get("params"),
                connection=Connection.from_envelope(version, None, None),
                lifespan_state=self._server.gateway.opened,
            )
        except Exception as error:  # noqa: BLE001 -- whatever it is, the client gets an answer and the log the error
            reply["error"] = error_of(error)
        return Response(to_json(reply), media_type="application/json")


@dataclass(slots=True)
class _Exchange:
    """The SDK's view of the request. The client waits for the response alone: what else would be sent is dropped, and
    nothing can be asked."""

    request_id: str | int
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None: ...

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None: ...
