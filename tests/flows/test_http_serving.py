"""The HTTP door over a real gateway: plain posts and session clients see the same mail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from tests.flows.caller import Caller
from tests.flows.http_server import serving

from postroom.settings import Settings


@pytest.fixture
async def url(filled: Settings) -> AsyncIterator[str]:
    async with serving(filled) as address:
        yield address.removesuffix("/mcp")


async def post(url: str, tool: str, **arguments: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{url}/mcp", json=call)
    assert answer.status_code == 200
    result: dict[str, Any] = answer.json()["result"]
    return result


async def test_a_change_made_by_a_plain_post_is_seen_by_a_session_and_undone(url: str) -> None:
    found = (await post(url, "search_emails", query="from:billing"))["structuredContent"]["results"][0]
    written = (await post(url, "mark_email", email_id=found["email_id"], flag="starred"))["structuredContent"]

    async with Client(f"{url}/mcp", mode="legacy") as client:
        caller = Caller(client)
        assert (await caller.ok("search_emails", query="is:starred"))["total_count"] == 1
        await caller.ok("undo", operation_id=written["operation_id"])

    assert (await post(url, "search_emails", query="is:starred"))["structuredContent"]["total_count"] == 0


async def test_a_session_client_hears_of_progress(url: str) -> None:
    reports: list[float] = []

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        reports.append(progress)

    async with Client(f"{url}/mcp", mode="legacy") as client:
        ids = [row["email_id"] for row in (await Caller(client).ok("list_emails", limit=25))["results"]]
        await client.call_tool("mark_email", {"email_id": ids, "flag": "read"}, progress_callback=note)

    assert reports
    assert reports[-1] == 25


async def test_many_posts_at_once_are_all_answered(url: str) -> None:
    answers: list[dict[str, Any]] = []

    async def one() -> None:
        answers.append(await post(url, "list_emails", limit=5))

    async with anyio.create_task_group() as tasks:
        for _ in range(30):
            tasks.start_soon(one)

    assert [answer["structuredContent"]["total_count"] for answer in answers] == [25] * 30


async def test_the_metrics_count_calls_and_repeat_nothing_that_a_caller_wrote(url: str) -> None:
    await post(url, "search_emails", query="planted-secret")
    await post(url, "planted_tool", query="planted-secret")

    async with httpx2.AsyncClient(timeout=60) as client:
        ready = await client.get(f"{url}/readyz")
        shown = (await client.get(f"{url}/metrics")).text

    assert ready.status_code == 200
    assert 'postroom_tool_calls_total{tool="search_emails",status="ok",code=""} 1' in shown
    assert 'tool="unknown",status="error"' in shown
    assert "planted" not in shown


async def test_a_request_with_two_lengths_is_refused_and_what_follows_it_is_not_taken_for_another(url: str) -> None:
    parts = urlsplit(url)
    first = [
        b"POST /mcp HTTP/1.1",
        b"Content-Type: application/json",
        b"Content-Length: 60",
        b"Transfer-Encoding: chunked",
    ]
    second = [b"GET /healthz HTTP/1.1", b"Connection: close"]
    host = f"Host: {parts.netloc}".encode()
    received = b""

    async with await anyio.connect_tcp(str(parts.hostname), int(parts.port or 0)) as stream:
        await stream.send(b"\r\n".join([*first, host, b"", b"0", b"", *second, host, b"", b""]))
        with anyio.fail_after(60):
            async for chunk in stream:
                received += chunk

    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1 ") == 1
