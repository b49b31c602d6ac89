"""Everything that can go wrong, as one tree.

    PostroomError                  code                  retryable
    ├── InvalidRequest             INVALID_REQUEST       no    the caller's words are off; say what to write instead
    ├── NotFound                   NOT_FOUND             no    no such mail, folder, account, draft, ...
    ├── PermissionDenied           PERMISSION_DENIED     no    policy, read-only mode or the provider's rights forbid it
    ├── AuthRequired               AUTH_REQUIRED         no    the account must be logged in again
    ├── RateLimited                RATE_LIMIT_EXCEEDED   yes   ours or the provider's limit; `retry_after` says when
    ├── ProviderError              PROVIDER_ERROR        no    the mail server answered with a failure
    │   └── ProviderUnavailable    PROVIDER_ERROR        yes   it did not answer, or said "later"
    ├── Conflict                   CONFLICT              no    the thing changed, exists already or is in progress
    │   └── CursorExpired          CONFLICT              no    what changed since then is not known any more
    ├── Unsupported                UNSUPPORTED           no    this provider cannot do that, and never pretends to
    └── InternalError              INTERNAL_ERROR        no    a fault of ours

Messages tell a language model what to do next. They never hold a secret, a stack trace, or mail content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class PostroomError(Exception):
    """The root. Raise one of the leaves."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    retryable: ClassVar[bool] = False

    def __init__(
        self, message: str, *, details: Mapping[str, Any] | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})
        self.retry_after = retry_after
        self.tries = 1  # how often it was tried before this error was let through


class InvalidRequest(PostroomError):
    code = "INVALID_REQUEST"


class NotFound(PostroomError):
    code = "NOT_FOUND"


class PermissionDenied(PostroomError):
    code = "PERMISSION_DENIED"


class AuthRequired(PostroomError):
    code = "AUTH_REQUIRED"


class RateLimited(PostroomError):
    code = "RATE_LIMIT_EXCEEDED"
    retryable = True


class ProviderError(PostroomError):
    code = "PROVIDER_ERROR"


class ProviderUnavailable(ProviderError):
    retryable = True


class Conflict(PostroomError):
    code = "CONFLICT"


class CursorExpired(Conflict):
    """For whoever keeps a copy of a mailbox; no tool ever shows it."""


class Unsupported(PostroomError):
    """Raised for a verb or a field that a provider lacks: nothing is ever dropped in silence."""

    code = "UNSUPPORTED"

    def __init__(self, provider: str, feature: str) -> None:
        super().__init__(
            f"The {provider} provider has no {feature}. Call get_capabilities to see what this account can do.",
            details={"provider": provider, "feature": feature},
        )


class InternalError(PostroomError):
    code = "INTERNAL_ERROR"
