"""Refusals of the HTTP server, in the form that clients who post JSON-RPC can read."""

from __future__ import annotations

import json
import math

from mcp_types import INVALID_REQUEST
from starlette.responses import Response


def problem(status: int, message: str, code: int = INVALID_REQUEST, request_id: str | int | None = None) -> Response:
    body = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
    return Response(json.dumps(body), status_code=status, media_type="application/json")


def wait(
    status: int, message: str, seconds: float, code: int = INVALID_REQUEST, request_id: str | int | None = None
) -> Response:
    refusal = problem(status, f"{message} Wait as long as Retry-After says.", code, request_id)
    refusal.headers["retry-after"] = str(math.ceil(seconds))
    return refusal
