"""Errors by the names of the contract, each with what a caller needs to act on it."""

from __future__ import annotations

import math
from typing import Any

from mcp_types import CallToolResult, TextContent

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

_NAMES = {
    InvalidRequest.code: "ValidationError",
    NotFound.code: "NotFoundError",
    PermissionDenied.code: "PermissionError",
    AuthRequired.code: "AuthError",
    RateLimited.code: "RateLimitError",
    Conflict.code: "ConflictError",
    ProviderError.code: "ProviderError",
    Unsupported.code: "UnsupportedError",
    InternalError.code: "InternalError",
}
_SENDING = ("send_email", "reply_email", "forward_email")
_QUEUED = "Die E-Mail liegt im Postausgang und wird automatisch gesendet. Nicht erneut senden."

_IN_PROGRESS = (
    "Eine E-Mail mit diesem idempotency_key wird gerade gesendet. Keinen anderen Schlüssel wählen, sondern denselben "
    "Aufruf in einigen Sekunden wiederholen."
)


def failure(error: PostroomError, tool: str) -> CallToolResult:
    name, scope = _name(error), _scope(error, tool)
    message = _sentence(error, name, scope)
    shown: dict[str, Any] = {"code": name, "message": message, "details": error.details}
    if name == "AuthError":
        shown["requiredScope"] = scope
    if error.retry_after is not None:
        shown["retryAfter"] = round(error.retry_after)
    return CallToolResult(
        is_error=True,
        content=[TextContent(type="text", text=f"{name}: {message}")],
        structured_content={"error": shown},
    )


def _name(error: PostroomError) -> str:
    if error.reason == "email_gone" or _is_elsewhere(error):  # also gone between the last look and the sending
        return "NotFoundError"
    if error.code == PermissionDenied.code and _is_the_providers(error):
        return "AuthError"
    return _NAMES[error.code]


def _is_elsewhere(error: PostroomError) -> bool:
    """An id of another user's mailbox than the one asked for."""
    return error.code == InvalidRequest.code and error.reason == "wrong_account"


def _is_the_providers(error: PostroomError) -> bool:
    """Not what the operator's own policy forbids."""
    return "requiredScope" in error.details or error.details.get("status") == 403


def _scope(error: PostroomError, tool: str) -> str:
    """What is refused before anything is sent is not about sending: storing the draft that carries attachments,
    reading the original, or opening somebody else's mailbox."""
    told: str = error.details.get("requiredScope", "")
    if error.details.get("shared"):
        return "Mail.Send.Shared" if tool in _SENDING else "Mail.Read.Shared"
    if told or tool not in _SENDING:
        return told or "Mail.Read"
    if error.code != PermissionDenied.code:
        return "Mail.Send"
    return "Mail.ReadWrite" if tool == "send_email" else "Mail.Read"


def _sentence(error: PostroomError, name: str, scope: str) -> str:
    if name == "AuthError":
        queued = f" {_QUEUED}" if error.details.get("queued") else ""
        return f"Der Anbieter verweigert den Zugriff; nötig ist die Berechtigung {scope}. {error.message}{queued}"
    if name == "RateLimitError" and error.details.get("queued"):
        return f"Zu viele Anfragen; neuer Versuch in {error.retry_after or 0:.0f} Sekunden. {_QUEUED}"
    if _is_elsewhere(error):
        return "Die E-Mail wurde nicht gefunden: Sie liegt in einem anderen Postfach. Dessen user_id angeben."
    if name == "NotFoundError" and error.reason in ("unknown_id", "email_gone"):
        return f"Die E-Mail wurde nicht gefunden: gelöscht, verschoben oder ungültige message_id. {error.message}"
    if error.reason == "attachment_too_large" and "size" in error.details:
        size = error.details["size"] / 2**20
        return f"Die E-Mail ist mit {size:.1f} MB zu groß für den Anbieter. Text kürzen oder kleinere Anhänge senden."
    if error.reason == "send_limit":
        minutes = math.ceil((error.retry_after or 0) / 60)
        limit = f"Das Sendelimit von {error.details['limit']} E-Mails pro Stunde ist erreicht"
        return f"{limit}. Es wurde nichts gesendet; der nächste Versand ist in {minutes} Minuten möglich."
    if error.reason == "idempotency_key_in_progress":
        return _IN_PROGRESS
    if error.reason == "idempotency_key_reused":
        return "Dieser idempotency_key wurde für eine andere E-Mail verwendet. Für eine neue E-Mail einen neuen wählen."
    return error.message
