"""Refusals in Google's shape: ``error: {code, message, errors: [{message, domain, reason, ...}], status}``.

Wording and reasons are those that the API was seen to give; where none was known, the closest documented one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.peers.web.messages import Answer

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_REASON = {
    400: "invalidArgument",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "aborted",
    412: "conditionNotMet",
    413: "uploadTooLarge",
    429: "rateLimitExceeded",
    500: "backendError",
    503: "backendError",
}
_USAGE = ("rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "quotaExceeded")
_NO_CREDENTIALS = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)


class Refused(Exception):
    """One refusal. `told` is the message of the inner error where it differs from the outer one."""

    def __init__(
        self,
        status: int,
        message: str,
        reason: str = "",
        *,
        told: str = "",
        location: tuple[str, str] | None = None,
        details: list[dict[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.details = status, message, details
        self.reason = reason or _REASON.get(status, "backendError")
        self.told, self.location, self.headers = told or message, location, headers or {}

    def answer(self) -> Answer:
        domain = "usageLimits" if self.reason in _USAGE else "global"
        inner = {"message": self.told, "domain": domain, "reason": self.reason}
        if self.location:
            inner |= {"location": self.location[0], "locationType": self.location[1]}
        error: dict[str, Any] = {"code": self.status, "message": self.message, "errors": [inner]}
        if status := _STATUS.get(self.status):
            error["status"] = "FAILED_PRECONDITION" if self.reason == "failedPrecondition" else status
        if self.details:
            error["details"] = self.details
        return Answer.of_json({"error": error}, self.status, self.headers)


def bad(message: str, reason: str = "invalidArgument") -> Refused:
    return Refused(400, message, reason)


def not_found() -> Refused:
    return Refused(404, "Requested entity was not found.")


def unauthenticated() -> Refused:
    challenge = {"www-authenticate": 'Bearer realm="https://accounts.google.com/", error="invalid_token"'}
    place = ("Authorization", "header")
    return Refused(401, _NO_CREDENTIALS, told="Invalid Credentials", location=place, headers=challenge)


def insufficient_scope(method: str) -> Refused:
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
        "domain": "googleapis.com",
        "metadata": {"service": "gmail.googleapis.com", "method": method},
    }
    challenge = {"www-authenticate": 'Bearer realm="https://accounts.google.com/", error="insufficient_scope"'}
    message = "Request had insufficient authentication scopes."
    return Refused(
        403, message, "insufficientPermissions", told="Insufficient Permission", details=[info], headers=challenge
    )


def misfit(message: str, field: str = "") -> Refused:
    """What the front of the API says to a request that does not fit the discovery document."""
    violation: dict[str, str] = {"description": message} | ({"field": field} if field else {})
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}
    return Refused(400, message, "invalid", details=[detail])
