"""One JSON-RPC message as it was posted, or the refusal. The SDK refuses the same, but repeats the body to whoever sent
it, and takes a request with an unusable id for a notification, which it drops in silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import PARSE_ERROR
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import Response

from postroom.doors.mcp.http.problems import problem
from postroom.doors.mcp.unanswered import BAD_ID

NOT_JSON = "Send JSON, with Content-Type: application/json."
BROKEN = "Parse error: the body is not valid JSON."
NOT_ONE = 'Invalid request: the body is not one JSON-RPC message. It has "jsonrpc": "2.0" and a method.'


def read_posted(headers: Headers, body: bytes) -> dict[str, Any] | Response:
    if headers.get("content-type", "").partition(";")[0].strip().casefold() != "application/json":
        return problem(415, NOT_JSON)
    try:
        found = from_json(body)  # as strict as the SDK, which reads it again for a session
    except ValueError:
        return problem(400, BROKEN, PARSE_ERROR)
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0" or not _has_content(found):
        return problem(400, NOT_ONE)
    if "id" in found and not _is_id(found["id"]) and "error" not in found:  # of an error it may be null
        return problem(400, BAD_ID)
    return found


def is_request(message: Mapping[str, Any]) -> bool:
    """Rather than a notification or a response."""
    return "method" in message and _is_id(message.get("id"))


def _has_content(message: dict[str, Any]) -> bool:
    if "method" in message:
        return isinstance(message["method"], str) and isinstance(message.get("params"), dict | None)
    return "result" in message or "error" in message


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
