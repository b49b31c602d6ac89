"""Refusals in Graph's shape: ``error: {code, message, innerError: {date, request-id, client-request-id}}``.

Codes and wording are those that the service documents or was seen to give; where none was known, the closest one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.peers.web.messages import Answer

_CODES = {
    400: "BadRequest",
    401: "InvalidAuthenticationToken",
    403: "ErrorAccessDenied",
    404: "ErrorItemNotFound",
    405: "Request_BadRequest",
    409: "ErrorFolderExists",
    410: "SyncStateNotFound",
    412: "ErrorIrresolvableConflict",
    413: "RequestEntityTooLarge",
    429: "ApplicationThrottled",
    500: "InternalServerError",
    503: "ServiceUnavailable",
    504: "GatewayTimeout",
}


class Refused(Exception):
    """`inner` is a second, deeper code, as some of Graph's own layers wrap the errors of Exchange."""

    def __init__(
        self, status: int, message: str, code: str = "", *, inner: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.inner, self.headers = status, message, inner, headers or {}
        self.code = code or _CODES.get(status, "UnknownError")

    def answer(self) -> Answer:
        asked = str(uuid.uuid4())
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        inner: dict[str, Any] = {"date": now, "request-id": asked, "client-request-id": asked}
        if self.inner:
            inner = {"code": self.inner, **inner}
        error = {"code": self.code, "message": self.message, "innerError": inner}
        return Answer.of_json({"error": error}, self.status, {"request-id": asked, **self.headers})


def bad(message: str, code: str = "BadRequest") -> Refused:
    return Refused(400, message, code)


def not_found() -> Refused:
    return Refused(404, "The specified object was not found in the store.", "ErrorItemNotFound")


def malformed_id() -> Refused:
    return bad("Id is malformed.", "ErrorInvalidIdMalformed")


def denied() -> Refused:
    return Refused(403, "Access is denied. Check credentials and try again.", "ErrorAccessDenied")


def inefficient() -> Refused:
    return bad("The restriction or sort order is too complex for this operation.", "InefficientFilter")
