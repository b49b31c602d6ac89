"""Sends that the provider refused or has not taken yet, as the errors that the contract names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.model.errors import (
    AuthRequired,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    RateLimited,
)

if TYPE_CHECKING:
    from postroom.service.views import ErrorView, SendView

SEND_SCOPE = "Mail.Send"
_TOO_LARGE = 413
_NOTHING_SENT = "Es wurde nichts gesendet."


def refused(view: SendView, size: int) -> PostroomError | None:
    """None where it was not refused. `size` is that of the message, in bytes."""
    if view.status == "held":
        return _not_taken_yet(view)
    if view.status != "rejected":
        return None
    refused = f"Der Anbieter lehnt Empfänger ab: {view.refusals}. " if view.refused else ""
    if view.error is None and view.refused:
        return InvalidRequest(f"{refused}{_NOTHING_SENT}", reason="invalid_address")
    if view.error is None:
        return PermissionDenied(view.message, reason="policy_denied")
    return _by_code(view.error, size, refused)


def _not_taken_yet(view: SendView) -> PostroomError | None:
    """Too many requests, or a login that no longer counts: it stays in the outbox, and the caller hears of it."""
    error = view.error
    if error is None:
        return None
    if error.code == RateLimited.code:
        return RateLimited(error.message, details={"queued": True}, retry_after=error.retry_after)
    if error.code == AuthRequired.code:
        return AuthRequired(error.message, details={"queued": True, "requiredScope": SEND_SCOPE})
    return None


def _by_code(error: ErrorView, size: int, refused: str) -> PostroomError:
    message = f"{refused}{error.message} {_NOTHING_SENT}"
    if error.code == PermissionDenied.code:
        return PermissionDenied(message, details={**error.details, "requiredScope": SEND_SCOPE})
    if error.code == NotFound.code:
        return NotFound(message, reason="email_gone")
    if error.code == InvalidRequest.code and error.details.get("status") == _TOO_LARGE:
        return InvalidRequest(message, reason="attachment_too_large", details={**error.details, "size": size})
    kind = InvalidRequest if error.code == InvalidRequest.code else ProviderError
    return kind(message, details=error.details)
