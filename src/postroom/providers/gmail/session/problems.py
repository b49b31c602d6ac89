"""What Google's error bodies say. A 403 is a quota, a missing scope or a rule of the organisation: `reason` tells."""

from __future__ import annotations

from postroom.model.errors import Conflict, InvalidRequest, PermissionDenied, PostroomError, RateLimited
from postroom.providers.gmail.session.wire import object_of, objects_of, text_of
from postroom.providers.http.answer import Answer
from postroom.providers.http.problems import Problem

_MINUTE = 60.0
_DAY = 3600.0  # a day's quota: there is no point in asking again soon
_KINDS: dict[str, tuple[type[PostroomError], float | None]] = {
    "rateLimitExceeded": (RateLimited, None),
    "userRateLimitExceeded": (RateLimited, None),
    "quotaExceeded": (RateLimited, _MINUTE),
    "RESOURCE_EXHAUSTED": (RateLimited, None),
    "dailyLimitExceeded": (RateLimited, _DAY),
    "dailyLimitExceededUnreg": (PermissionDenied, None),
    "insufficientPermissions": (PermissionDenied, None),
    "domainPolicy": (PermissionDenied, None),
    "accessNotConfigured": (PermissionDenied, None),
    "forbidden": (PermissionDenied, None),
    "delegationDenied": (PermissionDenied, None),
    "failedPrecondition": (InvalidRequest, None),
    "invalidArgument": (InvalidRequest, None),
    "invalid": (InvalidRequest, None),
    "badRequest": (InvalidRequest, None),
    "uploadTooLarge": (InvalidRequest, None),
    "aborted": (Conflict, None),
    "alreadyExists": (Conflict, None),
}
_ADVICE = {
    "insufficientPermissions": "The login does not include it. If tools were switched on since, log in again: "
    "postroom accounts login {account}",
    "accessNotConfigured": "Enable the Gmail API for the project of the client id, in the Google Cloud console.",
    "domainPolicy": "Ask the organisation's administrator to allow it.",
}


def read_problem(answer: Answer) -> Problem | None:
    error = object_of(answer.parsed()).get("error")
    if not isinstance(error, dict):
        return None
    reasons = [text_of(one.get("reason")) for one in objects_of(error.get("errors"))]
    reason = next(filter(None, reasons), "") or text_of(error.get("status"))
    kind, wait = _KINDS.get(reason, (None, None))
    return Problem(reason, kind, wait, advice=_ADVICE.get(reason, ""))
