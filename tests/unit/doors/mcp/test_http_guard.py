from __future__ import annotations

from collections.abc import Iterable

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from postroom.doors.mcp.http.callers import Callers
from postroom.doors.mcp.http.guard import MAX_BODY, Guard
from postroom.doors.mcp.http.rate import RequestRate


async def echo_size(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


def client(*, hosts: Iterable[str] = (), tokens: Iterable[str] = (), per_minute: int = 0) -> TestClient:
    routes = [Route(path, echo_size, methods=["GET", "POST"]) for path in ("/mcp", "/healthz")]
    guard = Guard(Starlette(routes=routes), hosts=hosts, callers=Callers(tokens), rate=RequestRate(per_minute))
    return TestClient(guard, base_url="http://127.0.0.1:8090")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1234", "[::1]:8090", "LOCALHOST:8090", "mail.example.com"])
def test_loopback_names_and_allowed_hosts_are_served_on_any_port(host: str) -> None:
    assert client(hosts=["mail.example.com"]).get("/mcp", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "[", "localhost@evil.example", "evil.example@localhost"]
)
@pytest.mark.parametrize("path", ["/mcp", "/healthz"])
def test_other_hosts_are_refused_on_every_route(host: str, path: str) -> None:
    assert client().get(path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://localhost.evil.example", "http://[", "x://a]b"]
)
def test_other_origins_are_refused(origin: str) -> None:
    assert client().get("/healthz", headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("own_is_first", [True, False])
def test_every_origin_of_a_request_must_be_ours(own_is_first: bool) -> None:
    origins = [("origin", "http://localhost:8090"), ("origin", "http://evil.example")]

    assert client().get("/mcp", headers=origins if own_is_first else origins[::-1]).status_code == 403


def test_the_own_origin_is_accepted() -> None:
    assert client().get("/mcp", headers={"origin": "http://localhost:8090"}).status_code == 200


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic right", "right", "Bearer rightt"])
def test_a_request_without_the_right_token_is_refused_and_told_what_to_send(header: str) -> None:
    answer = client(tokens=["right"]).post("/mcp", headers={"authorization": header})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize("header", ["Bearer right", "bearer other", "Bearer  right"])
def test_any_of_the_tokens_opens(header: str) -> None:
    assert client(tokens=["right", "other"]).get("/mcp", headers={"authorization": header}).status_code == 200


@pytest.mark.parametrize("second", ["Bearer right", "Bearer wrong", "Basic right"])
def test_a_request_with_two_tokens_is_refused_though_the_first_is_right(second: str) -> None:
    headers = [("authorization", "Bearer right"), ("authorization", second)]

    assert client(tokens=["right"]).get("/mcp", headers=headers).status_code == 401


def test_health_needs_no_token() -> None:
    assert client(tokens=["right"]).get("/healthz").status_code == 200


def test_a_body_that_says_it_is_too_large_is_refused_unread() -> None:
    answer = client().post("/mcp", content=b"x" * (MAX_BODY + 1))

    assert answer.status_code == 413
    assert "larger" in answer.json()["error"]["message"]


def test_a_body_that_turns_out_too_large_is_refused() -> None:
    chunks = (b"x" * (MAX_BODY // 2 + 1) for _ in range(2))

    assert client().post("/mcp", content=chunks).status_code == 413


def test_a_body_that_fits_arrives_whole() -> None:
    assert client().post("/mcp", content=b"x" * MAX_BODY).text == str(MAX_BODY)


def test_a_client_that_asks_too_often_is_told_when_to_come_back() -> None:
    asking = client(per_minute=6)  # which gives one at once

    assert asking.get("/mcp").status_code == 200
    refused = asking.get("/mcp")

    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    assert asking.get("/healthz").status_code == 200


def test_what_is_sent_to_a_path_without_a_token_is_not_read() -> None:
    assert client().post("/mcp", content=b"x" * 1000).text == "1000"
    assert client(tokens=["right"]).post("/healthz", content=b"x" * 1000).text == "0"
