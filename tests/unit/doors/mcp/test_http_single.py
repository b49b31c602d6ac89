"""A request without a session is answered by itself, as the SDK would answer it, and never left without an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from postroom.doors.mcp.http.single import SingleRequests, is_single
from postroom.doors.mcp.server import PostroomServer

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_accounts", "arguments": {}}}


async def answered(requests: SingleRequests, message: Mapping[str, Any]) -> tuple[int, Any]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(part: Message) -> None:
        sent.append(part)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}
    await requests(message, scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


@asynccontextmanager
async def opened(server: PostroomServer) -> AsyncIterator[SingleRequests]:
    requests = SingleRequests(server)
    async with server.gateway(server), requests.running():
        yield requests


@pytest.mark.parametrize(
    ("message", "version", "expected"),
    [
        (CALL, "", True),
        (CALL, "2025-06-18", True),
        (CALL, "2026-07-28", False),
        (CALL, "1999-01-01", False),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, "", False),
        ({"jsonrpc": "2.0", "id": 7, "result": {}}, "", False),
    ],
)
def test_only_a_request_of_an_era_with_handshakes_is_answered_by_itself(
    message: Mapping[str, Any], version: str, expected: bool
) -> None:
    headers = Headers({"mcp-protocol-version": version} if version else {})
    assert is_single(headers, message) is expected


async def test_the_result_of_a_call_is_the_response(server: PostroomServer) -> None:
    async with opened(server) as requests:
        status, body = await answered(requests, CALL)

    assert (status, body["id"]) == (200, 7)
    assert body["result"]["structuredContent"]["accounts"][0]["name"] == "alex"


async def test_an_error_of_the_protocol_is_the_response(server: PostroomServer) -> None:
    async with opened(server) as requests:
        unknown = await answered(requests, {**CALL, "method": "no/such"})
        broken = await answered(requests, {**CALL, "params": {"name": 5}})

    assert (unknown[0], unknown[1]["id"], unknown[1]["error"]["code"]) == (200, 7, -32601)
    assert broken[1]["error"]["code"] == -32602


async def test_an_error_that_nobody_expected_is_answered_without_its_text(
    server: PostroomServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken() -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(server, "list_tools", broken)
    async with opened(server) as requests:
        _, body = await answered(requests, {"jsonrpc": "2.0", "id": 8, "method": "tools/list"})

    assert body["id"] == 8
    assert body["error"]["code"] == -32603
    assert "secret" not in json.dumps(body)


async def test_what_is_in_progress_when_the_application_ends_is_cut_off_and_told_so(
    server: PostroomServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, answers = anyio.Event(), []

    async def endless() -> Any:
        begun.set()
        await anyio.sleep_forever()

    monkeypatch.setattr(server, "list_tools", endless)

    async def ask(requests: SingleRequests) -> None:
        answers.append(await answered(requests, {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}))

    async with anyio.create_task_group() as tasks, opened(server) as requests:
        tasks.start_soon(ask, requests)
        await begun.wait()

    ((status, body),) = answers
    assert (status, body["id"]) == (500, 9)
    assert "before you repeat it" in body["error"]["message"]
