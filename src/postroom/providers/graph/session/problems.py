"""What Graph's errors mean: ``error: {code, message, innerError: {code, ...}}``, decided by the deepest known code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from postroom.model.errors import (
    AuthRequired,
    Conflict,
    CursorExpired,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from postroom.providers.graph.session.wire import inner, text
from postroom.providers.http.answer import Answer
from postroom.providers.http.problems import Problem

NO_MAILBOX = frozenset({"MailboxNotEnabledForRESTAPI", "MailboxNotSupportedForRESTAPI", "ErrorMailboxLicenseExpired"})
_NO_MAILBOX = (
    "Microsoft has no mailbox for this account that programs can open: its Exchange Online licence is missing or has "
    "lapsed, or the mailbox is on the organisation's own server. Ask the administrator; over IMAP it may still work."
)
_UNCONVERTIBLE = frozenset({"ErrorMimeContentConversionFailed", "ErrorContentConversionFailed", "ErrorItemCorrupt"})
_OPEN_ELSEWHERE = (
    "Microsoft cannot convert this message for programs: it is encrypted, or damaged. Open it in Outlook; other"
    " messages are not concerned."
)
BAD_RECIPIENTS = "ErrorInvalidRecipients"
_DEEPEST = 5
_QUOTED = re.compile(r"'((?=[^'\s]+?@[^'\s])[^'\s]++)'")

_KINDS: dict[str, type[PostroomError]] = {
    "InvalidAuthenticationToken": AuthRequired,
    "ErrorItemNotFound": NotFound,
    "ErrorInvalidIdMalformed": NotFound,
    "ErrorInvalidId": NotFound,
    "ErrorInvalidUser": NotFound,
    "ErrorAccessDenied": PermissionDenied,
    "ErrorSendAsDenied": PermissionDenied,
    "ErrorFolderExists": Conflict,
    "ErrorCategoryExists": Conflict,
    "ErrorIrresolvableConflict": Conflict,
    "ErrorMoveCopyFailed": Conflict,
    "SyncStateNotFound": CursorExpired,
    "SyncStateInvalid": CursorExpired,
    "ResyncRequired": CursorExpired,
    "ApplicationThrottled": RateLimited,
    "TooManyRequests": RateLimited,
    "ErrorExceededMessageLimit": RateLimited,
    "ErrorServerBusy": ProviderUnavailable,
    "ErrorMailboxStoreUnavailable": ProviderUnavailable,
    "ErrorMailboxMoveInProgress": ProviderUnavailable,
    "ErrorMessageSizeExceeded": InvalidRequest,
    "ErrorAttachmentSizeLimitExceeded": InvalidRequest,
    BAD_RECIPIENTS: InvalidRequest,
    **dict.fromkeys(NO_MAILBOX | _UNCONVERTIBLE, ProviderError),
}
_ADVICE = {**dict.fromkeys(NO_MAILBOX, _NO_MAILBOX), **dict.fromkeys(_UNCONVERTIBLE, _OPEN_ELSEWHERE)}
_BY_CODE = {code.casefold(): (code, kind) for code, kind in _KINDS.items()}


def read_problem(answer: Answer) -> Problem | None:
    if answer.is_success:
        return None
    error = inner(inner(answer.parsed()).get("error"))
    codes = list(_codes(error))
    known = [_BY_CODE[code.casefold()] for code in codes if code.casefold() in _BY_CODE]
    if not known:
        return Problem(codes[0]) if codes else None
    code, kind = known[-1]
    named = {"recipients": _QUOTED.findall(text(error.get("message")))} if code == BAD_RECIPIENTS else {}
    return Problem(code, kind, details=named, advice=_ADVICE.get(code, ""))


def is_unconvertible(error: object) -> bool:
    """Whether it is about one message that Exchange itself cannot convert, however often it is asked."""
    return isinstance(error, PostroomError) and has_code(error, *_UNCONVERTIBLE)


def has_code(error: PostroomError, *codes: str) -> bool:
    return error.details.get("reason") in codes


def _codes(error: dict[str, Any]) -> Iterator[str]:
    """From the outermost to the deepest; the key is spelt in two ways."""
    for _ in range(_DEEPEST):
        if code := text(error.get("code")):
            yield code
        error = inner(error.get("innerError") or error.get("innererror"))
