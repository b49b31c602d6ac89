"""Whether the server runs, whether it can work, and what it has done so far."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from postroom import __version__
from postroom.doors.mcp.http.callers import CLIENT
from postroom.doors.mcp.http.problems import problem
from postroom.doors.mcp.server import PostroomServer
from postroom.model.errors import PostroomError

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def health_routes(server: PostroomServer) -> list[Route]:
    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok", "name": "postroom", "version": __version__})

    async def readyz(_request: Request) -> Response:
        is_ready = await _unfinished(server) is not None
        return JSONResponse({"status": "ok" if is_ready else "not ready"}, status_code=200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        if request.scope.get(CLIENT) is not None:
            return problem(403, "Only a token of the settings (server.tokens) may see the metrics.")
        outbox = await _unfinished(server) or {}
        return PlainTextResponse(server.metrics.text(outbox.items()), media_type=PROMETHEUS)

    paths = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    return [Route(path, answer, methods=["GET"]) for path, answer in paths.items()]


async def _unfinished(server: PostroomServer) -> dict[str, int] | None:
    """What is in the outbox; None if that cannot be known, and so nothing can be sent safely."""
    from postroom.service.sending.outbox import count_unfinished

    if server.gateway.opened is None:
        return None
    try:
        return await count_unfinished(server.gateway.opened)
    except PostroomError:
        return None
