"""Access tokens of an authorisation server over real HTTP, beside the tokens of the settings and of each client."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest
from tests.flows.http_server import serving
from tests.flows.test_client_tokens import call, post, structured, tools
from tests.peers.oauth.issuer import RESOURCE, FakeIssuer

from postroom.doors.mcp import log
from postroom.doors.mcp.http import per_client
from postroom.settings import Settings, build
from postroom.settings.clients import Client, create

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
STREAMS = {"accept": "application/json, text/event-stream"}
METADATA = "http://127.0.0.1/.well-known/oauth-protected-resource/mcp"
SCOPES = {"read": "mail.read", "organise": "mail.organise", "send": "mail.send"}
GRANTS = [
    {"subject": "alice", "client": "app", "accounts": ["alex"], "gate": "confirm"},
    {"subject": "bob", "accounts": ["sam"], "read_only": True},
    {"subject": "carol", "scope": "mail.admin"},
]
MAIL = {"to": ["sam@demo.example"], "subject": "plans", "body": "now", "confirm": True}


@pytest.fixture(scope="module")
def issuer() -> Iterator[FakeIssuer]:
    with FakeIssuer("ES256").run() as running:
        yield running


@pytest.fixture
def served(filled: Settings, issuer: FakeIssuer) -> Settings:
    written = {"issuer": issuer.issuer, "resource": RESOURCE, "toolset_scopes": SCOPES, "grants": GRANTS}
    accounts = [account.model_dump() for account in filled.accounts]
    return build({"server": {"tokens": ["operator"]}, "authorization": written, "accounts": accounts}, home=filled.home)


@pytest.fixture
async def url(served: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    monkeypatch.setattr(per_client, "LOOK_SECONDS", 0.05)
    async with serving(served) as address:
        yield address


def challenge(answer: httpx2.Response) -> str:
    return answer.headers["www-authenticate"]


async def test_a_token_admits_to_what_its_bearer_was_granted(url: str, issuer: FakeIssuer) -> None:
    alice = issuer.token(sub="alice", scope="mail.read mail.send")
    bob = issuer.token(sub="bob", client_id="another", scope="mail.read mail.organise mail.send")

    assert structured(await call(url, alice, "list_emails", account="all"))["total_count"] == 25
    assert [a["name"] for a in structured(await call(url, bob, "list_accounts"))["accounts"]] == ["sam"]
    assert {"read_email", "send_email"} <= await tools(url, alice)
    assert not {"create_draft", "mark_email"} & await tools(url, alice)
    assert not {"send_email", "mark_email"} & await tools(url, bob)
    assert structured(await call(url, alice, "send_email", **MAIL))["status"] == "sent"


async def test_tokens_of_every_kind_work_side_by_side(url: str, issuer: FakeIssuer, served: Settings) -> None:
    given = create(served, Client("laptop", "", accounts=("sam",)))

    assert len(structured(await call(url, "operator", "list_accounts"))["accounts"]) == 2
    assert len(structured(await call(url, given, "list_accounts"))["accounts"]) == 1
    assert len(structured(await call(url, issuer.token(scope="mail.read"), "list_accounts"))["accounts"]) == 1


async def test_without_a_token_the_client_is_told_where_to_get_one(url: str, issuer: FakeIssuer) -> None:
    refused = await post(url, "", "tools/list")
    assert refused.status_code == 401
    assert challenge(refused) == f'Bearer resource_metadata="{METADATA}"'

    async with httpx2.AsyncClient() as client:
        for suffix in ("", "/mcp"):
            told = await client.get(url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource" + suffix)
            assert told.json() == {
                "resource": RESOURCE,
                "authorization_servers": [issuer.issuer],
                "bearer_methods_supported": ["header"],
                "resource_name": "Postroom",
                "scopes_supported": ["mail.read", "mail.organise", "mail.send", "mail.admin"],
            }


@pytest.mark.parametrize(
    ("claims", "status", "error"),
    [
        ({"aud": "https://other.example"}, 401, "invalid_token"),
        ({"exp": 1}, 401, "invalid_token"),
        ({"sub": "mallory", "scope": "mail.read mail.admin"}, 403, "insufficient_scope"),
        ({"client_id": "evil", "scope": "mail.read"}, 403, "insufficient_scope"),
        ({"sub": "carol", "scope": "mail.read"}, 403, 'insufficient_scope", scope="mail.admin'),
        ({"scope": ""}, 403, 'insufficient_scope", scope="mail.read'),
        ({"scope": "mail.readx"}, 403, 'insufficient_scope", scope="mail.read'),
    ],
)
async def test_a_token_that_does_not_admit_says_why(
    url: str, issuer: FakeIssuer, claims: dict[str, Any], status: int, error: str
) -> None:
    refused = await post(url, issuer.token(**claims), "tools/list")

    assert refused.status_code == status
    assert challenge(refused) == f'Bearer resource_metadata="{METADATA}", error="{error}"'
    assert refused.json()["error"]["message"]


async def test_a_call_beyond_the_scopes_names_the_scope_it_needs(url: str, issuer: FakeIssuer) -> None:
    reader = issuer.token(scope="mail.read")

    refused = await post(url, reader, "tools/call", name="send_email", arguments=MAIL)

    assert refused.status_code == 403
    assert challenge(refused).endswith('error="insufficient_scope", scope="mail.send"')
    unknown = await call(url, reader, "create_draft", to=["sam@demo.example"], subject="x", body="y")
    assert unknown["isError"]  # no scope gives the drafts


async def test_a_session_belongs_to_subject_and_client(url: str, issuer: FakeIssuer) -> None:
    alice = issuer.token(scope="mail.read")
    renewed = issuer.token(scope="mail.read", exp=int(time.time()) + 1200)
    others = [
        issuer.token(sub="bob", scope="mail.read"),
        issuer.token(sub="carol", scope="mail.read mail.admin"),
        "operator",
    ]
    async with httpx2.AsyncClient(timeout=30) as client:

        async def send(token: str, method: str, **headers: str) -> httpx2.Response:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": HELLO if method == "initialize" else {}}
            return await client.post(
                url, json=message, headers={"authorization": f"Bearer {token}", **STREAMS, **headers}
            )

        session = {"mcp-session-id": (await send(alice, "initialize")).headers["mcp-session-id"]}

        assert [(await send(other, "tools/list", **session)).status_code for other in others] == [404, 404, 404]
        assert (await send(renewed, "tools/list", **session)).status_code == 200


async def test_a_stream_ends_when_the_token_it_was_opened_with_expires(url: str, issuer: FakeIssuer) -> None:
    headers = {"authorization": f"Bearer {issuer.token(scope='mail.read', exp=int(time.time()) + 1)}", **STREAMS}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    async with httpx2.AsyncClient(timeout=60) as client:
        opened = await client.post(url, json=hello, headers=headers)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "accept": "text/event-stream"}
        async with client.stream("GET", url, headers={**headers, **session}) as stream:
            with anyio.fail_after(60):
                await stream.aread()
        renewed = {"authorization": f"Bearer {issuer.token(scope='mail.read')}", **STREAMS}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert (await client.post(url, json=listing, headers={**session, **renewed})).status_code == 200


class Bearer:
    """One who holds a session."""

    def __init__(self, client: httpx2.AsyncClient, url: str, token: str) -> None:
        self._client, self._url = client, url
        self.headers = {"authorization": f"Bearer {token}", **STREAMS}

    async def send(self, method: str) -> int:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": HELLO if method == "initialize" else {}}
        answer = await self._client.post(self._url, json=message, headers=self.headers)
        if method == "initialize":
            self.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        return answer.status_code


async def test_a_bearer_who_had_to_make_room_can_come_back(
    url: str, issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(per_client, "MOST_BEARERS", 1)
    async with httpx2.AsyncClient(timeout=60) as client:
        alice, bob = (Bearer(client, url, issuer.token(sub=sub, scope="mail.read")) for sub in ("alice", "bob"))
        await alice.send("initialize")
        async with client.stream("GET", url, headers=alice.headers) as listening:
            assert (await bob.send("initialize"), await bob.send("tools/list")) == (200, 200)
            await listening.aread()

        assert await alice.send("tools/list") == 404
        del alice.headers["mcp-session-id"]
        assert (await alice.send("initialize"), await alice.send("tools/list")) == (200, 200)


async def test_nothing_of_a_token_reaches_the_log(
    url: str, issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = io.StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log.configure("debug", lines, form="json")
    tokens = [issuer.token(sub="alice", scope="mail.read"), issuer.token(sub="alice", aud="https://canary.example")]
    for token in tokens:
        await post(url, token, "tools/call", name="list_accounts", arguments={})

    logged = lines.getvalue()
    for secret in (*tokens, *(part for token in tokens for part in token.split(".")), "alice", "canary", issuer.key_id):
        assert secret not in logged
    refused = [json.loads(line) for line in logged.splitlines() if "token_refused" in line]
    assert [line["outcome"] for line in refused] == ["audience"]


async def test_while_keys_cannot_be_fetched_access_tokens_wait_and_others_work(served: Settings) -> None:
    with FakeIssuer().run() as issuer:
        issuer.fail_next("GET", "*", times=100)
        own = served.authorization.model_copy(update={"issuer": issuer.issuer})
        async with serving(replace(served, authorization=own)) as url:
            refused = await post(url, issuer.token(scope="mail.read"), "tools/list")
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) >= 1
            assert (await post(url, "operator", "tools/list")).status_code == 200
