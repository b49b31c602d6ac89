"""JMAP's own names: capabilities, properties, and what its error types mean."""

from __future__ import annotations

import re
from typing import Any

from postroom.model.errors import (
    Conflict,
    CursorExpired,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    Unsupported,
)
from postroom.providers.http.answer import Answer
from postroom.providers.http.problems import Problem, read_problem_details

PROVIDER = "jmap"
CORE = "urn:ietf:params:jmap:core"
MAIL = "urn:ietf:params:jmap:mail"
SUBMISSION = "urn:ietf:params:jmap:submission"
VACATION = "urn:ietf:params:jmap:vacationresponse"
SIEVE = "urn:ietf:params:jmap:sieve"  # RFC 9661
SIEVE_OF_CYRUS = "https://cyrusimap.org/ns/jmap/sieve"  # its own, from before that; usually only announced

SEEN, FLAGGED, ANSWERED, FORWARDED, DRAFT = "$seen", "$flagged", "$answered", "$forwarded", "$draft"
STAGED = "$postroom_staged"  # ours: prepared to be sent, as opposed to a draft that somebody saved

_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9]{0,60}")
_LIMIT = "urn:ietf:params:jmap:error:limit"

Call = tuple[str, dict[str, Any]]  # a method's name and its arguments

# Errors of a whole method. All but the first two also say that it changed nothing.
_METHOD: dict[str, tuple[type[PostroomError], str]] = {
    "serverFail": (ProviderError, "failed"),
    "serverPartialFail": (ProviderError, "did only a part of it"),
    "serverUnavailable": (ProviderUnavailable, "is temporarily unavailable. Try again later"),
    "forbidden": (PermissionDenied, "does not allow that for this account"),
    "accountReadOnly": (PermissionDenied, "allows only reading in this account"),
    "accountNotFound": (PermissionDenied, "no longer has this account for this login"),
    "accountNotSupportedByMethod": (PermissionDenied, "does not offer that for this account"),
    "requestTooLarge": (InvalidRequest, "does not accept a request this large"),
    "stateMismatch": (Conflict, "says that something has changed meanwhile. Try again"),
    "cannotCalculateChanges": (CursorExpired, "no longer knows what changed since then"),
    "unsupportedFilter": (InvalidRequest, "cannot search for that. Search for something simpler"),
    "unsupportedSort": (ProviderError, "cannot sort by date"),
    "rateLimit": (RateLimited, "received too many requests. Try again later"),
}
UNTOUCHED = frozenset(_METHOD) - {"serverFail", "serverPartialFail", "serverUnavailable"} | {
    "unknownMethod",
    "invalidArguments",
    "invalidResultReference",
}

# Errors of one object of a set.
_SET: dict[str, tuple[type[PostroomError], str]] = {
    "notFound": (NotFound, "no longer has this item"),
    "willDestroy": (NotFound, "no longer has this item"),
    "forbidden": (PermissionDenied, "does not allow that"),
    "overQuota": (PermissionDenied, "has no room left for this account"),
    "tooLarge": (InvalidRequest, "does not accept anything this large"),
    "tooManyKeywords": (InvalidRequest, "does not allow that many labels on one message"),
    "tooManyMailboxes": (InvalidRequest, "does not allow a message in that many folders"),
    "invalidProperties": (InvalidRequest, "does not accept this value"),
    "invalidPatch": (InvalidRequest, "does not accept this change"),
    "invalidEmail": (InvalidRequest, "does not accept this message"),
    "alreadyExists": (Conflict, "has this item already"),
    "mailboxHasEmail": (Conflict, "keeps the folder, because messages are in it"),
    "mailboxHasChild": (Conflict, "keeps the folder, because folders are in it"),
    "stateMismatch": (Conflict, "says that this item has changed meanwhile"),
    "rateLimit": (RateLimited, "received too many requests. Try again later"),
}


def is_id(ref: str) -> bool:
    """Whether a server could have issued it; what is no id is not asked for."""
    return _ID.fullmatch(ref) is not None


def shown_type(error: Any) -> str:
    """An error's type where it looks like one. Its description is free text and is not passed on."""
    found = error.get("type") if isinstance(error, dict) else None
    return found if isinstance(found, str) and _TYPE.fullmatch(found) else "unnamed"


def method_error(method: str, error: Any) -> PostroomError:
    kind = shown_type(error)
    if kind == "unknownMethod":
        return Unsupported(PROVIDER, f"{method} (this server lacks it)")
    cls, what = _METHOD.get(kind, (ProviderError, "refused the request"))
    return cls(f"The mail server {what} ({method}: {kind}).", details={"type": kind})


def set_error(error: Any) -> PostroomError:
    kind = shown_type(error)
    cls, what = _SET.get(kind, (ProviderError, "refused the change"))
    return cls(f"The mail server {what} ({kind}).", details={"type": kind})


def read_problem(answer: Answer) -> Problem | None:
    """Problem details of a whole request (RFC 8620, 3.6.1). `limit` names which one in a second field."""
    problem = read_problem_details(answer)
    if problem is None or problem.reason != _LIMIT:
        return problem
    limit = answer.parsed().get("limit")
    return Problem(problem.reason, InvalidRequest if limit == "maxSizeRequest" else RateLimited)
