"""Everything that can go wrong, as one tree.

    PostroomError                  code                  retryable
    ├── InvalidRequest             INVALID_REQUEST       no    the caller's input is invalid; say what to write instead
    ├── NotFound                   NOT_FOUND             no    no such message, folder, account, draft, ...
    ├── PermissionDenied           PERMISSION_DENIED     no    policy, read-only mode or the provider's rights forbid it
    ├── AuthRequired               AUTH_REQUIRED         no    the account must be logged in again
    ├── RateLimited                RATE_LIMIT_EXCEEDED   yes   ours or the provider's limit; `retry_after` says when
    ├── ProviderError              PROVIDER_ERROR        no    the mail server reported a failure
    │   └── ProviderUnavailable    PROVIDER_ERROR        yes   it did not respond, or said "later"
    │       └── NoAnswer           PROVIDER_ERROR        yes   it was waited for in vain
    ├── Conflict                   CONFLICT              no    the thing changed, already exists or is in progress
    │   └── CursorExpired          CONFLICT              no    what changed since then is no longer known
    ├── Unsupported                UNSUPPORTED           no    this provider cannot do that, and never pretends to
    └── InternalError              INTERNAL_ERROR        no    a bug in Postroom

Messages tell a language model what to do next. They never contain a secret, a stack trace, or mail content.

`code` is the kind of error, `reason` the specific one: a dialect whose contract has its own sentences chooses them by
`reason` and `details`, never by parsing the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

# Stable: dialects choose wording by them. An error without wording of its own has the general reason of its class.
Reason = Literal[
    "account_not_configured",
    "already_exists",
    "approval_missing",
    "attachment_not_allowed",
    "attachment_too_large",
    "attachment_unknown",
    "auth_required",
    "conflict",
    "connection_lost",
    "draft_gone",
    "draft_on_its_way",
    "email_gone",
    "folder_role_missing",
    "folder_unknown",
    "idempotency_key_in_progress",
    "idempotency_key_reused",
    "internal_error",
    "invalid_address",
    "invalid_argument",
    "invalid_base64",
    "invalid_request",
    "invalid_template",
    "login_refused",
    "not_a_draft",
    "not_found",
    "permission_denied",
    "policy_denied",
    "provider_error",
    "provider_limit",
    "provider_unavailable",
    "rate_limited",
    "read_only",
    "recipient_missing",
    "send_limit",
    "template_variables",
    "thread_gone",
    "tool_not_enabled",
    "unknown_account",
    "unknown_argument",
    "unknown_id",
    "unknown_template",
    "unknown_tool",
    "unsupported",
    "wrong_account",
]


class PostroomError(Exception):
    """The base class. Raise one of the subclasses."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    retryable: ClassVar[bool] = False
    general_reason: ClassVar[Reason] = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        reason: Reason | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason: Reason = reason or self.general_reason
        self.details = dict(details or {})
        self.retry_after = retry_after
        self.tries = 1  # how many attempts were made before this error was raised
        self.refused_folder = ""  # the provider's ref of the only one that a server refuses: it answers for others
        self.is_of_messages = False  # the server answered, and failed over those it was asked for
        self.is_audited = False  # an entry about the call that it ended is written already


class InvalidRequest(PostroomError):
    code = "INVALID_REQUEST"
    general_reason = "invalid_request"


class NotFound(PostroomError):
    code = "NOT_FOUND"
    general_reason = "not_found"


class PermissionDenied(PostroomError):
    code = "PERMISSION_DENIED"
    general_reason = "permission_denied"


class AuthRequired(PostroomError):
    code = "AUTH_REQUIRED"
    general_reason = "auth_required"


class RateLimited(PostroomError):
    code = "RATE_LIMIT_EXCEEDED"
    general_reason = "rate_limited"
    retryable = True


class ProviderError(PostroomError):
    code = "PROVIDER_ERROR"
    general_reason: ClassVar[Reason] = "provider_error"


class ProviderUnavailable(ProviderError):
    retryable = True
    general_reason = "provider_unavailable"


class NoAnswer(ProviderUnavailable):
    """The server was waited for in vain, which says nothing about what it was asked for."""


class Conflict(PostroomError):
    code = "CONFLICT"
    general_reason = "conflict"


class CursorExpired(Conflict):
    """For code that keeps a copy of a mailbox; no tool ever shows it."""


class Unsupported(PostroomError):
    """Raised for an operation or a field that a provider lacks: nothing is ever dropped silently."""

    code = "UNSUPPORTED"
    general_reason = "unsupported"

    def __init__(self, provider: str, feature: str, advice: str = "") -> None:
        """`advice` says how a person does it instead."""
        advice = advice or "Call get_capabilities to see what it supports."
        super().__init__(
            f"The {provider} provider does not support {feature}. {advice}",
            details={"provider": provider, "feature": feature},
        )


class InternalError(PostroomError):
    code = "INTERNAL_ERROR"
    general_reason = "internal_error"
