"""Responses to requests that are not admitted: each says in WWW-Authenticate what would be."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_types import INTERNAL_ERROR
from starlette.responses import Response

from postroom.doors.mcp.http.callers import Caller, Callers
from postroom.doors.mcp.http.problems import problem, wait
from postroom.doors.mcp.log import log

HOW_TO_ASK = "A bearer token is required: send Authorization: Bearer <token>."


async def identify(callers: Callers, headers: Sequence[str]) -> Caller | Response:
    """Whose request it is, by its Authorization headers, or the refusal."""
    if callers.authorization is None:
        return await callers.by_headers(headers) or token_missing(callers)
    from postroom.doors.mcp.http.oauth.refusals import KeysUnavailable, ScopeMissing, TokenRefused, challenge

    place = callers.authorization.metadata_url
    try:
        caller = await callers.by_headers(headers)
    except TokenRefused as refused:
        log.info("token_refused", extra={"outcome": refused.reason})
        return _challenged(401, refused.message, challenge(place, "invalid_token"))
    except ScopeMissing as missing:
        log.info("token_refused", extra={"outcome": "scope"})
        return _challenged(403, missing.message, challenge(place, "insufficient_scope", missing.scopes))
    except KeysUnavailable as unavailable:
        return wait(503, unavailable.message, unavailable.seconds, INTERNAL_ERROR)
    return caller or token_missing(callers)


def token_missing(callers: Callers) -> Response:
    if callers.authorization is None:
        return _challenged(401, HOW_TO_ASK, 'Bearer realm="postroom"')
    from postroom.doors.mcp.http.oauth.refusals import challenge

    return _challenged(401, HOW_TO_ASK, challenge(callers.authorization.metadata_url))


def scope_missing(callers: Callers, scope: str) -> Response:
    """To a call that the bearer could make with that scope."""
    from postroom.doors.mcp.http.oauth.refusals import ScopeMissing, challenge

    assert callers.authorization is not None
    place = callers.authorization.metadata_url
    return _challenged(403, ScopeMissing([scope]).message, challenge(place, "insufficient_scope", [scope]))


def _challenged(status: int, message: str, challenge: str) -> Response:
    refusal = problem(status, message)
    refusal.headers["www-authenticate"] = challenge
    return refusal
