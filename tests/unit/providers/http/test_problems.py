"""Error bodies of several services, read as their providers read them, or would."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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
from postroom.providers.gmail.session.problems import read_problem as read_google
from postroom.providers.http.answer import Answer
from postroom.providers.http.api import Api
from postroom.providers.http.problems import Problem, read_problem_details
from postroom.providers.http.unclear import UnclearWrite

from .scripted_http import Reply, Server

Make = Callable[..., Api]
CANARY = "bob@example.com said hello"


def read_graph(answer: Answer) -> Problem | None:
    """The deepest code decides."""
    found = answer.parsed()
    error = found.get("error") if isinstance(found, dict) else None
    code = ""
    while isinstance(error, dict):
        code = error.get("code", code)
        error = error.get("innerError") or error.get("innererror")
    return Problem(code, NotFound if code == "ErrorItemNotFound" else None) if code else None


def google(code: int, reason: str) -> Reply:
    errors = [{"domain": "usageLimits", "reason": reason, "message": CANARY}]
    return Reply(code, {"error": {"code": code, "message": CANARY, "errors": errors}})


async def failure(server: Server, api: Api, reply: Reply) -> PostroomError:
    server.replies = [reply]
    with pytest.raises(PostroomError) as caught:
        await api.write("POST", "/x", content={})
    assert CANARY not in str(caught.value.details) + caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ProviderError),
        (401, AuthRequired),
        (403, PermissionDenied),
        (404, NotFound),
        (408, ProviderUnavailable),
        (409, Conflict),
        (410, NotFound),
        (412, Conflict),
        (413, InvalidRequest),
        (423, Conflict),
        (429, RateLimited),
    ],
)
@pytest.mark.parametrize("body", [b"", CANARY, "<html>" + CANARY, b'{"error": ', {"error": CANARY}, [CANARY]])
async def test_a_status_alone_says_enough_whatever_the_body(
    server: Server, api: Api, status: int, kind: type[PostroomError], body: bytes
) -> None:
    error = await failure(server, api, Reply(status, body))
    assert type(error) is kind
    assert error.message.startswith("127.0.0.1 ")
    assert str(status) in error.message


async def test_a_readers_word_is_finer_than_the_status(server: Server, make_api: Make) -> None:
    api = make_api(read_problem=read_google)
    limited = await failure(server, api, google(403, "userRateLimitExceeded"))
    denied = await failure(server, api, google(403, "insufficientPermissions"))
    assert (type(limited), type(denied)) == (RateLimited, PermissionDenied)
    assert denied.details == {"status": 403, "reason": "insufficientPermissions"}
    assert "insufficientPermissions" in denied.message


async def test_the_deepest_code_of_a_nested_error_decides(server: Server, make_api: Make) -> None:
    inner = {"code": "ErrorItemNotFound", "message": CANARY}
    body = {"error": {"code": "BadRequest", "message": CANARY, "innererror": inner}}
    error = await failure(server, make_api(read_problem=read_graph), Reply(400, body))
    assert type(error) is NotFound


async def test_problem_details_are_read(server: Server, make_api: Make) -> None:
    body = {"type": "urn:ietf:params:jmap:error:limit", "status": 400, "detail": CANARY}
    error = await failure(server, make_api(read_problem=read_problem_details), Reply(400, body))
    assert error.details["reason"] == "urn:ietf:params:jmap:error:limit"


async def test_an_error_inside_a_success_is_an_error(server: Server, make_api: Make) -> None:
    api = make_api(read_problem=read_google)
    server.replies = [google(200, "backendError")]
    with pytest.raises(ProviderError, match="the status is a success"):
        await api.read("/x")


@pytest.mark.parametrize("status", [200, 202])
@pytest.mark.parametrize("reason", ["backendError", "rateLimitExceeded", "invalidArgument"])
async def test_after_a_write_an_error_inside_a_success_leaves_it_open_what_happened(
    server: Server, make_api: Make, status: int, reason: str
) -> None:
    assert type(await failure(server, make_api(read_problem=read_google), google(status, reason))) is UnclearWrite


async def test_a_reason_that_does_not_look_like_one_is_left_out(server: Server, make_api: Make) -> None:
    error = await failure(server, make_api(read_problem=read_google), google(403, CANARY))
    assert error.details == {"status": 403}


async def test_a_page_where_data_was_asked_for_is_named(server: Server, api: Api) -> None:
    assert "web page" in (await failure(server, api, Reply(404, f"<!doctype html>{CANARY}"))).message
