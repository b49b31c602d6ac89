"""Uploads of messages: in one piece, together with JSON, or resumable in several pieces."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from tests.peers.gmail.errors import Refused, bad, misfit
from tests.peers.gmail.methods import Method
from tests.peers.gmail.multipart import parts
from tests.peers.web.messages import Answer, Request

_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)\Z")
_UNIT = 256 * 1024  # pieces but the last one are multiples of this


def read_json(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        value = json.loads(body)
    except ValueError:
        raise Refused(
            400, "Invalid JSON payload received. Parsing terminated before end of input.", "parseError"
        ) from None
    if not isinstance(value, dict):
        raise misfit('Invalid JSON payload received. Unknown name "": Root element must be a message.')
    found: dict[str, Any] = _without_nulls(value)
    return found


def _without_nulls(value: Any) -> Any:
    """Protocol buffers read null as a field that is not there."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return value


@dataclass(slots=True)
class Session:
    """A resumable upload under way."""

    method: Method
    user: str
    body: dict[str, Any]
    limit: int
    received: bytearray = field(default_factory=bytearray)

    def take(self, request: Request) -> Answer | None:
        """None once all is there; before that, what is there so far."""
        given = request.header("content-range")
        if not given:
            self.received[:] = request.body
            return None
        found = _RANGE.match(given)
        if not found:
            raise bad("Invalid Content-Range", "badRequest")
        start, total = found[1], found[3]
        if start is not None:
            self._append(int(start), int(found[2]), request.body, is_last=total == str(int(found[2]) + 1))
        if len(self.received) > self.limit:
            raise Refused(413, "Request Entity Too Large")
        return None if total == str(len(self.received)) else self._so_far()

    def _append(self, start: int, end: int, content: bytes, *, is_last: bool) -> None:
        if start != len(self.received) or end - start + 1 != len(content):
            raise bad("Invalid Content-Range: it does not follow what was received", "badRequest")
        if not is_last and len(content) % _UNIT:
            raise bad(f"Invalid request: pieces must be multiples of {_UNIT} bytes", "badRequest")
        self.received += content

    def _so_far(self) -> Answer:
        headers = {"range": f"bytes=0-{len(self.received) - 1}"} if self.received else {}
        return Answer(308, b"", headers)


class Uploads:
    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def begin(self, url: str, request: Request, method: Method, user: str, limit: int) -> Answer:
        announced = request.header("x-upload-content-length")
        if announced and int(announced) > limit:
            raise Refused(413, "Request Entity Too Large")
        new = secrets.token_urlsafe(24)
        self._sessions[new] = Session(method, user, read_json(request.body), limit)
        query = "&".join(filter(None, (request.query, f"upload_id={new}")))
        return Answer(200, b"", {"location": f"{url}{request.path}?{query}", "x-guploader-uploadid": new})

    def session(self, upload_id: str) -> Session:
        if upload_id not in self._sessions:
            raise Refused(404, "Upload session not found")
        return self._sessions[upload_id]

    def end(self, upload_id: str) -> None:
        self._sessions.pop(upload_id, None)


def whole(request: Request, kind: str) -> tuple[dict[str, Any], bytes]:
    """JSON and message of an upload in one request."""
    content_type = request.header("content-type")
    if kind != "multipart":
        if not content_type.lower().startswith("message/"):
            raise bad(f"Media type '{content_type}' is not supported. Valid media types: [message/*]", "badContent")
        return {}, request.body
    found = parts(request.body, content_type)
    if len(found) != 2:
        raise bad("Missing end boundary in multipart body.", "badContent")
    (_, described), (_, message) = found
    return read_json(described), message
