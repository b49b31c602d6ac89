"""Two requests with one id in one session: the second is refused, and neither waits for ever."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio.to_thread
import httpx2
import pytest
from tests.unit.doors.mcp.test_http import CALL, Running, post

from postroom.doors.mcp.http.app import http_app
from postroom.doors.mcp.server import PostroomServer

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
STREAMS = "application/json, text/event-stream"


class Held:
    """A server whose tool calls wait until they are released."""

    def __init__(self, server: PostroomServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.released = threading.Event(), threading.Event()
        self._call = server.call_tool
        monkeypatch.setattr(server, "call_tool", self._held)

    async def _held(self, *args: Any) -> Any:
        self.reached.set()
        await anyio.to_thread.run_sync(self.released.wait, 60)
        return await self._call(*args)


def test_an_id_in_use_is_refused_and_the_first_request_is_answered(
    server: PostroomServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(server, monkeypatch)
    with Running(http_app(server)) as url, ThreadPoolExecutor(1) as thread:
        opened = post(url, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}, accept=STREAMS)
        session = {"mcp_session_id": opened.headers["mcp-session-id"], "accept": STREAMS}

        def sent(message: Any) -> httpx2.Response:
            return post(url, message, **session)

        first = thread.submit(sent, CALL)
        assert held.reached.wait(60)
        refused = [
            sent({"jsonrpc": "2.0", "id": used, "method": "tools/list"}) for used in (CALL["id"], str(CALL["id"]))
        ]
        other = sent({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
        held.released.set()
        answered = first.result(60)
        again = sent({"jsonrpc": "2.0", "id": CALL["id"], "method": "tools/list"})

    assert [answer.status_code for answer in refused] == [400, 400]
    assert "id" in refused[0].json()["error"]["message"]
    assert "alex@demo.example" in answered.text
    assert (other.status_code, again.status_code) == (200, 200)
