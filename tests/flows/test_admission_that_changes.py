"""Who is admitted changes while a server is running: what was begun by somebody who is not admitted any more."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream
from tests.flows.http_server import serving
from tests.flows.test_client_tokens import post

from postroom.doors.mcp.http import per_client
from postroom.settings import Settings
from postroom.settings.clients import FILE, Client, create, revoke

NOT_LOOPBACK = "127.0.0.2"  # for Postroom; for this machine it is
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_accounts", "arguments": {}}}
BOTH = {"accept": "application/json, text/event-stream"}


async def test_an_address_that_others_can_reach_never_goes_without_a_token(filled: Settings) -> None:
    token = create(filled, Client("laptop", ""))

    async with serving(filled, NOT_LOOPBACK) as url:
        assert (await post(url, token, "tools/list")).status_code == 200
        Path(filled.home, FILE).unlink()

        assert (await post(url, "", "tools/list")).status_code == 401
        assert (await post(url, token, "tools/list")).status_code == 401
        assert (await post(url, create(filled, Client("desk", "")), "tools/list")).status_code == 200


async def begun(url: str, token: str) -> SocketStream:
    """A call whose body is on its way. The server has read the headers, for it asks for the rest."""
    parts = urlsplit(url)
    stream = await anyio.connect_tcp(str(parts.hostname), int(parts.port or 0))
    lines = [
        f"POST {parts.path} HTTP/1.1",
        f"Host: {parts.netloc}",
        *([f"Authorization: Bearer {token}"] if token else []),
        "Content-Type: application/json",
        f"Content-Length: {len(json.dumps(LISTING))}",
        "Expect: 100-continue",
        "Connection: close",
    ]
    await stream.send("\r\n".join([*lines, "", ""]).encode())
    assert (await stream.receive()).startswith(b"HTTP/1.1 100 ")
    return stream


async def ended(stream: SocketStream) -> bytes:
    received = b""
    async with stream:
        await stream.send(json.dumps(LISTING).encode())
        async for chunk in stream:
            received += chunk
    return received


async def test_a_client_that_is_revoked_while_it_sends_its_request_is_refused(filled: Settings) -> None:
    token = create(filled, Client("laptop", ""))

    async with serving(filled) as url:
        kept, slow = await begun(url, token), await begun(url, token)
        assert (await ended(kept)).startswith(b"HTTP/1.1 200 ")
        revoke(filled.home, "laptop")
        answer = await ended(slow)

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"www-authenticate: Bearer" in answer
    assert b"alex" not in answer


async def test_a_request_begun_without_a_token_is_refused_if_one_is_required_at_its_end(filled: Settings) -> None:
    async with serving(filled) as url:
        kept, slow = await begun(url, ""), await begun(url, "")
        assert (await ended(kept)).startswith(b"HTTP/1.1 200 ")
        create(filled, Client("laptop", ""))

        assert (await ended(slow)).startswith(b"HTTP/1.1 401 ")


async def test_a_stream_opened_without_a_token_ends_once_one_is_required(
    filled: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(per_client, "LOOK_SECONDS", 0.05)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}

    async with serving(filled) as url, httpx2.AsyncClient(timeout=60, headers=BOTH) as client:
        session = {"mcp-session-id": (await client.post(url, json=opening)).headers["mcp-session-id"]}
        async with client.stream("GET", url, headers=session) as stream:
            assert stream.status_code == 200
            create(filled, Client("laptop", ""))
            with anyio.fail_after(60):
                async for _ in stream.aiter_raw():  # ends
                    pass
        assert (await client.get(url, headers=session)).status_code == 401
