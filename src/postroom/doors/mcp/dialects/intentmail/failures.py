"""The contract's error model: six codes, and what a caller needs to act on them. Our own code is in `details`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, TextContent

from postroom.doors.mcp.failures import advice_within
from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InternalError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    RateLimited,
    Unsupported,
)

if TYPE_CHECKING:
    from postroom.service.views import ErrorView

_OWN = (InvalidRequest, NotFound, PermissionDenied, RateLimited, ProviderError, InternalError)
_COVERED_BY = {
    **{kind.code: kind.code for kind in _OWN},
    AuthRequired.code: PermissionDenied.code,
    Conflict.code: InvalidRequest.code,
    Unsupported.code: InvalidRequest.code,
}
_THE_PROVIDERS = ("status", "reason")  # of `details`: what the service itself answered


def failure(error: PostroomError, _tool: str = "") -> CallToolResult:
    shown = error_model(error.code, error.message, error.details, error.retry_after, error.reason)
    return CallToolResult(
        is_error=True,
        content=[TextContent(type="text", text=f"{shown['code']}: {shown['message']}")],
        structured_content={"error": shown},
    )


def item_error(error: ErrorView) -> dict[str, Any]:
    """Of one message among several."""
    return error_model(error.code, advice_within(error.message), error.details, error.retry_after)


def error_model(
    code: str, message: str, details: dict[str, Any], retry_after: float | None, reason: str = ""
) -> dict[str, Any]:
    theirs = {name: details[name] for name in _THE_PROVIDERS if "status" in details and name in details}
    ours = {name: value for name, value in details.items() if name not in theirs}
    shown: dict[str, Any] = {
        "code": _COVERED_BY[code],
        "message": message,
        "details": {**ours, "code": code, **({"reason": reason} if reason else {})},
    }
    if theirs or code == ProviderError.code:
        shown["provider_error"] = theirs or {"message": message}
    if retry_after is not None:
        shown["retry_after"] = retry_after
    return shown


def as_error(error: ErrorView, message: str = "") -> PostroomError:
    """To be raised: what kept the only message of a call from being changed or sent."""
    return _with_code(error.code)(message or error.message, details=error.details, retry_after=error.retry_after)


def _with_code(code: str) -> type[PostroomError]:
    kinds = (*_OWN, AuthRequired, Conflict)
    return next((kind for kind in kinds if kind.code == code), InvalidRequest)
