"""The HTTP door on a real socket: bare posts, session clients, both eras, and everything that must be refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client

from postroom import __version__
from postroom.doors.mcp.http.app import http_app
from postroom.doors.mcp.http.callers import Callers
from postroom.doors.mcp.server import PostroomServer

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_accounts", "arguments": {}}}

STREAMS = "application/json, text/event-stream"
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}


class Running:
    """uvicorn in a thread on a free loopback port."""

    def __init__(self, app: Any) -> None:
        self._ready = threading.Event()
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> str:
        started = self._server.startup

        async def startup(sockets: Any = None) -> None:
            await started(sockets)
            self._ready.set()

        self._server.startup = startup  # type: ignore[method-assign]
        self._thread.start()
        assert self._ready.wait(30)
        return f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)


@pytest.fixture
def url(server: PostroomServer) -> Iterator[str]:
    with Running(http_app(server)) as url:
        yield url


def post(url: str, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with httpx2.Client(timeout=60) as client:
        request = client.build_request("POST", f"{url}/mcp", content=content)
        request.headers.pop("accept", None)
        request.headers["content-type"] = "application/json"
        request.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
        return client.send(request)


@pytest.mark.parametrize(
    "accept", [None, "*/*", "application/json", "application/json, text/event-stream", "text/html"]
)
@pytest.mark.parametrize("body", [LIST, CALL])
def test_a_bare_post_is_answered_with_plain_json_whatever_it_accepts(url: str, body: Any, accept: str | None) -> None:
    answer = post(url, body, **({"accept": accept} if accept else {}))

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["id"] == body["id"]
    assert "result" in answer.json()


def test_a_bare_call_carries_the_whole_answer(url: str) -> None:
    result = post(url, CALL).json()["result"]

    assert result["structuredContent"]["accounts"][0]["name"] == "alex"
    assert "alex@demo.example" in result["content"][0]["text"]


def test_a_failed_bare_call_is_a_result_with_a_code(url: str) -> None:
    call = {**CALL, "params": {"name": "list_accounts", "arguments": {"chek": True}}}

    result = post(url, call).json()["result"]

    assert result["isError"]
    assert result["structuredContent"]["error"]["code"] == "INVALID_REQUEST"
    assert "did you mean check?" in result["content"][0]["text"]


def test_invalid_json_is_a_parse_error(url: str) -> None:
    answer = post(url, b'{"jsonrpc": "2.0", "id": 1, ')

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32700


@pytest.mark.parametrize(
    "body", [b"[]", b"17", b'"text"', b"null", b"{}", b"[" * 100_000, b"\xff\xfe", b"", b'"\\ud800"']
)
def test_json_that_is_no_request_is_refused_and_the_server_stays_up(url: str, body: bytes) -> None:
    assert 400 <= post(url, body).status_code < 500
    assert post(url, LIST).status_code == 200


def test_ten_megabytes_of_arguments_are_refused_and_the_server_stays_up(url: str) -> None:
    call = {**CALL, "params": {"name": "list_accounts", "arguments": {"check": "x" * 10_000_000}}}

    answer = post(url, call)

    assert answer.status_code == 413
    assert answer.json()["error"]["message"]
    assert post(url, LIST).status_code == 200


def test_a_method_that_does_not_exist_is_answered_as_such(url: str) -> None:
    assert post(url, {"jsonrpc": "2.0", "id": 3, "method": "no/such"}).json()["error"]["code"] == -32601


def test_a_session_that_does_not_exist_is_not_served_statelessly_and_its_client_told_to_begin_anew(url: str) -> None:
    answer = post(url, LIST, mcp_session_id="0" * 32, accept=STREAMS)
    assert (answer.status_code, answer.json()["id"]) == (404, LIST["id"])
    assert answer.json()["error"]["code"] == -32001, "by which clients know it"
    assert "Session not found" in answer.json()["error"]["message"]
    assert "nothing was done. Connect again" in answer.json()["error"]["message"]


def test_clients_that_never_end_their_sessions_lock_nobody_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.doors.mcp.http.app.MOST_SESSIONS", 3)
    opened = [post(url, HELLO, accept=STREAMS).headers["mcp-session-id"] for _ in range(3)]
    assert post(url, LIST, mcp_session_id=opened[0], accept=STREAMS).status_code == 200, "the one last used"

    opened += [post(url, HELLO, accept=STREAMS).headers["mcp-session-id"] for _ in range(2)]

    still = [post(url, LIST, mcp_session_id=each, accept=STREAMS).status_code for each in opened]
    assert still == [200, 404, 404, 200, 200]


def test_a_session_that_listens_does_not_make_room(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.doors.mcp.http.app.MOST_SESSIONS", 1)
    first = post(url, HELLO, accept=STREAMS).headers["mcp-session-id"]
    headers = {"mcp-session-id": first, "accept": "text/event-stream"}
    with httpx2.Client(timeout=60) as client, client.stream("GET", f"{url}/mcp", headers=headers) as listening:
        assert listening.status_code == 200
        assert post(url, HELLO, accept=STREAMS).status_code == 200
        assert post(url, LIST, mcp_session_id=first, accept=STREAMS).status_code == 200


def test_a_client_that_cannot_take_streams_can_still_shake_hands(url: str) -> None:
    answer = post(url, HELLO, accept="application/json")

    assert answer.status_code == 200
    assert answer.json()["result"]["serverInfo"]["name"] == "postroom"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_the_sdk_client_works_in_every_era(url: str, mode: str) -> None:
    async with Client(f"{url}/mcp", mode=mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool("list_accounts", {})

    assert "list_emails" in {tool.name for tool in tools.tools}
    assert result.structured_content is not None
    assert result.structured_content["accounts"][0]["name"] == "alex"


def test_health_tells_the_version_and_nothing_else(url: str) -> None:
    answer = httpx2.get(f"{url}/healthz")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "name": "postroom", "version": __version__}


@pytest.mark.parametrize("path", ["/healthz", "/mcp", "/"])
def test_a_foreign_host_or_origin_is_refused_on_every_route(url: str, path: str) -> None:
    assert httpx2.get(f"{url}{path}", headers={"host": "evil.example"}).status_code == 421
    assert httpx2.get(f"{url}{path}", headers={"origin": "http://evil.example"}).status_code == 403


def test_with_tokens_nothing_is_served_without_one(server: PostroomServer) -> None:
    with Running(http_app(server, callers=Callers(["right"]))) as url:
        assert post(url, LIST).status_code == 401
        assert post(url, LIST, authorization="Bearer wrong").status_code == 401
        assert post(url, LIST, authorization="Bearer right").status_code == 200


def test_one_gateway_is_opened_for_both_transports_and_closed_at_the_end(server: PostroomServer, door: Any) -> None:
    with Running(http_app(server)) as url:
        post(url, LIST)
        assert (door.opened, door.closed) == (1, 0)

    assert (door.opened, door.closed) == (1, 1)


@pytest.mark.parametrize(
    "body",
    [
        {"method": "tools/list", "id": 1},
        {**LIST, "jsonrpc": "1.0"},
        {**LIST, "method": 7},
        {**LIST, "params": [1]},
        *({**LIST, "id": wrong} for wrong in (None, 1.5, True, [1], {"secret": 1})),
    ],
)
def test_what_is_no_request_is_refused_in_words_and_never_dropped_in_silence(url: str, body: Any) -> None:
    answer = post(url, body)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32600
    assert "secret" not in answer.text


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_what_is_not_posted_as_json_is_refused_with_what_to_send(url: str, kind: str) -> None:
    answer = post(url, LIST, content_type=kind)

    assert answer.status_code == 415
    assert "Content-Type: application/json" in answer.json()["error"]["message"]


def test_a_slash_at_the_end_of_the_address_is_no_redirect(url: str) -> None:
    """Behind a proxy it would lead to plain HTTP, with the token."""
    answer = httpx2.post(f"{url}/mcp/", json=LIST, follow_redirects=False)

    assert answer.status_code == 200
    assert answer.json()["result"]["tools"]
