"""Maps a status and an error body to one of our errors. A server's free text is not passed on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from postroom.providers.http.answer import Answer
from postroom.providers.http.retry_after import read_retry_after
from postroom.providers.http.unclear import UnclearWrite


@dataclass(frozen=True, slots=True)
class Problem:
    """What a service's error body says. `kind` is None where the status says enough; `reason` is the service's own
    code for it (``rateLimitExceeded``), shown only when it looks like a code. `details` become the error's own: never
    free text of the service. `advice` is ours: what to do about it, with ``{account}`` for the account's name."""

    reason: str = ""
    kind: type[PostroomError] | None = None
    retry_after: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    advice: str = ""


# Each provider has its own. It gets every response: even the body of a success may contain an error.
ReadProblem = Callable[[Answer], Problem | None]

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,99}")
_BY_STATUS: dict[int, tuple[type[PostroomError], str]] = {
    401: (AuthRequired, "does not accept the login"),
    403: (PermissionDenied, "does not allow that for this account"),
    404: (NotFound, "no longer has this item"),
    408: (ProviderUnavailable, "did not receive the whole request in time"),
    409: (Conflict, "says that this item has changed or already exists"),
    410: (NotFound, "no longer has this item"),
    412: (Conflict, "says that this item has changed meanwhile"),
    413: (InvalidRequest, "does not accept a request this large"),
    414: (InvalidRequest, "does not accept an address this long"),
    423: (Conflict, "says that this item is in use"),
    425: (ProviderUnavailable, "is temporarily unavailable"),
    429: (RateLimited, "received too many requests; its limit for this account is reached"),
    501: (ProviderError, "cannot do that"),
}


def read_plain(answer: Answer) -> Problem | None:
    """For a service whose error bodies add nothing to the status."""
    return None


def read_problem_details(answer: Answer) -> Problem | None:
    """RFC 9457 (``application/problem+json``), as JMAP rejects a request (RFC 8620, 3.6.1)."""
    found = answer.parsed()
    if answer.is_success or not isinstance(found, dict) or not isinstance(found.get("type"), str):
        return None
    return Problem(found["type"])


def error_of(answer: Answer, problem: Problem | None, *, account: str, now: float) -> PostroomError:
    """`now` is the wall clock's time: a Retry-After may be a date."""
    problem = problem or Problem()
    reason = problem.reason if _CODE.fullmatch(problem.reason) else ""
    if answer.of_write and _settles_nothing(answer.status):
        return UnclearWrite(answer.host, f"failed ({_shown(answer, reason)})", status=answer.status)
    kind, what = _meaning(answer, problem)
    asked = problem.retry_after if problem.retry_after is not None else read_retry_after(answer.headers, now)
    return kind(
        f"{answer.host} {what} ({_shown(answer, reason)}).{_hint(kind, asked, account)}{_advice(problem, account)}",
        details={**problem.details, "status": answer.status, **({"reason": reason} if reason else {})},
        retry_after=asked if kind.retryable else None,
    )


def _settles_nothing(status: int) -> bool:
    """A server may have carried it out before failing, a redirect may follow a completed request (303), and a success
    with an error inside says both."""
    return (status >= 500 and status != 501) or 200 <= status < 400


def _meaning(answer: Answer, problem: Problem) -> tuple[type[PostroomError], str]:
    kind, what = _BY_STATUS.get(answer.status, _by_class(answer))
    if problem.kind is None or problem.kind is kind:
        return kind, what
    return problem.kind, _BY_KIND.get(problem.kind, "refused the request")


def _by_class(answer: Answer) -> tuple[type[PostroomError], str]:
    if answer.status >= 500:
        return ProviderUnavailable, "failed"
    if answer.status < 300:
        return ProviderError, "reports a failure although the status is a success"
    if answer.status < 400:  # to the login page of a network, or where the service is now
        return ProviderUnavailable, "redirects the request, which was not followed"
    return ProviderError, "refused the request"


_BY_KIND = {kind: what for kind, what in _BY_STATUS.values() if kind is not ProviderError} | {
    NotFound: "no longer has this item",
    InvalidRequest: "does not accept this request",
    ProviderUnavailable: "is temporarily unavailable",
    Conflict: "says that this item has changed or already exists",
}


def _shown(answer: Answer, reason: str) -> str:
    page = ", with a web page" if answer.is_page else ""
    return f"{answer.status}{f' {reason}' if reason else page}"


def _advice(problem: Problem, account: str) -> str:
    return f" {problem.advice.format(account=account)}" if problem.advice else ""


def _hint(kind: type[PostroomError], asked: float | None, account: str) -> str:
    if issubclass(kind, AuthRequired):
        return f" Log in again: postroom accounts login {account}"
    if not kind.retryable:
        return ""
    return f" Try again in {asked:.0f} seconds." if asked else " Try again later."
