"""Clients with tokens of their own over real HTTP: each sees its accounts, its tools and its gate, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.flows.caller import Caller
from tests.flows.http_server import serving

from postroom.doors.mcp.http import per_client
from postroom.settings import Settings
from postroom.settings.clients import FILE, create, revoke
from postroom.settings.clients import Client as ClientRow


@pytest.fixture
async def url(filled: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    monkeypatch.setattr(per_client, "LOOK_SECONDS", 0.05)
    async with serving(filled) as address:
        yield address


@pytest.fixture
def token(filled: Settings) -> Callable[..., str]:
    def made(name: str, **grant: Any) -> str:
        return create(filled, ClientRow(name, "", **grant))

    return made


async def post(url: str, token: str, method: str, **params: Any) -> httpx2.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as client:
        return await client.post(url, json=call)


async def call(url: str, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await post(url, token, "tools/call", name=tool, arguments=arguments)
    assert answer.status_code == 200
    result: dict[str, Any] = answer.json()["result"]
    return result


async def tools(url: str, token: str) -> set[str]:
    return {tool["name"] for tool in (await post(url, token, "tools/list")).json()["result"]["tools"]}


@asynccontextmanager
async def session(url: str, token: str) -> AsyncIterator[Caller]:
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(
            httpx2.AsyncClient(timeout=60, headers={"authorization": f"Bearer {token}"})
        )
        transport = streamable_http_client(url, http_client=http)
        yield Caller(await stack.enter_async_context(Client(transport, mode="legacy")))


def structured(result: dict[str, Any]) -> dict[str, Any]:
    assert not result.get("isError"), result
    found: dict[str, Any] = result["structuredContent"]
    return found


async def test_once_a_client_exists_a_token_is_required(url: str, token: Callable[..., str]) -> None:
    assert (await post(url, "", "tools/list")).status_code == 200

    given = token("laptop")

    assert (await post(url, "", "tools/list")).status_code == 401
    assert (await post(url, given + "x", "tools/list")).status_code == 401
    assert (await post(url, given, "tools/list")).status_code == 200


async def test_a_client_sees_only_its_accounts(url: str, token: Callable[..., str]) -> None:
    alex, sam = token("a", accounts=("alex",)), token("s", accounts=("sam",))

    listed = structured(await call(url, sam, "list_accounts"))["accounts"]

    assert [account["name"] for account in listed] == ["sam"]
    assert structured(await call(url, alex, "list_emails", account="all"))["total_count"] == 25
    assert structured(await call(url, sam, "list_emails", account="all"))["total_count"] == 0
    refused = await call(url, sam, "list_emails", account="alex")
    assert refused["isError"]
    assert "alex@" not in str(refused)


async def test_what_one_client_was_shown_means_nothing_to_another(url: str, token: Callable[..., str]) -> None:
    alex, sam = token("a", accounts=("alex",)), token("s", accounts=("sam",))
    row = structured(await call(url, alex, "list_emails", limit=1))["results"][0]
    operation = structured(await call(url, alex, "mark_email", email_id=row["email_id"], flag="starred"))[
        "operation_id"
    ]

    tried = [
        await call(url, sam, "read_email", email_id=row["email_id"]),
        await call(url, sam, "get_thread", thread_id=row["thread_id"]),
        await call(url, sam, "undo", operation_id=operation),
        await call(url, sam, "delete_email", email_id=row["email_id"]),
        await call(url, sam, "reply_email", email_id=row["email_id"], body="hello"),
    ]

    for answer in tried:
        assert answer["isError"], answer
        assert row["subject"] not in str(answer)
    assert structured(await call(url, alex, "search_emails", query="is:starred"))["total_count"] == 1


async def test_the_outbox_of_another_account_is_neither_shown_nor_cancelled(
    url: str, token: Callable[..., str]
) -> None:
    alex = token("a", accounts=("alex",), gate="confirm")
    sam = token("s", accounts=("sam",))
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")
    arguments = {"to": ["sam@demo.example"], "subject": "plans", "body": "later", "confirm": True}
    sent = structured(await call(url, alex, "send_email", **arguments, send_at=tomorrow))

    assert sent["status"] == "scheduled"
    assert structured(await call(url, alex, "list_outbox"))["total_count"] == 1
    assert structured(await call(url, sam, "list_outbox", include_finished=True))["total_count"] == 0
    assert (await call(url, sam, "cancel_send", send_id=sent["send_id"]))["isError"]
    assert structured(await call(url, alex, "cancel_send", send_id=sent["send_id"]))["status"] == "cancelled"


async def test_a_client_attaches_nothing_that_another_has_downloaded(
    filled: Settings, token: Callable[..., str]
) -> None:
    """Though the operator lets files be attached from the folder in which all of them save theirs."""
    downloads = filled.safety.download_dir
    settings = replace(filled, safety=filled.safety.model_copy(update={"attachment_dirs": (downloads,)}))
    alex, sam = token("a", accounts=("alex",)), token("s", accounts=("sam",))
    draft = {"to": ["x@demo.example"], "subject": "s", "body": "b"}

    async with serving(settings) as url:
        found = structured(await call(url, alex, "search_emails", query="has:attachment", limit=1))["results"][0]
        files = structured(await call(url, alex, "list_attachments", email_id=found["email_id"]))["attachments"]
        what = {"email_id": found["email_id"], "attachment_id": files[0]["attachment_id"]}
        saved = Path(structured(await call(url, alex, "download_attachment", **what))["path"])
        attached = await call(url, alex, "create_draft", **draft, attachments=[str(saved)])
        refused = [
            await call(url, sam, "create_draft", **draft, attachments=[path])
            for path in (str(saved), str(saved.relative_to(downloads)), str(saved.with_name("none")))
        ]

    assert structured(attached)["has_attachments"]
    assert {answer["structuredContent"]["error"]["code"] for answer in refused} == {"NOT_FOUND"}


async def test_each_client_has_its_own_gate(url: str, token: Callable[..., str]) -> None:
    strict, loose = token("strict", gate="approval"), token("loose", gate="confirm")
    arguments = {"to": ["sam@demo.example"], "subject": "plans", "body": "now", "confirm": True}

    asked = structured(await call(url, strict, "send_email", **arguments))
    sent = structured(await call(url, loose, "send_email", **{**arguments, "body": "at once"}))

    assert asked["status"] == "needs_approval"
    assert sent["status"] == "sent"


async def test_a_client_is_offered_only_its_tools_and_cannot_call_others(url: str, token: Callable[..., str]) -> None:
    reader, looker = token("reader", toolsets=("read",)), token("looker", read_only=True)

    assert "read_email" in await tools(url, reader)
    assert not {"send_email", "create_draft", "delete_email"} & (await tools(url, reader) | await tools(url, looker))
    for given in (reader, looker):
        refused = await call(url, given, "create_draft", to=["sam@demo.example"], subject="x", body="y")
        assert refused["isError"]


async def test_whoever_may_not_read_finds_no_resources_either(url: str, token: Callable[..., str]) -> None:
    """An inbox can be read, subscribed to and completed from: all of that is reading."""
    reader, sender = token("reader", toolsets=("read",)), token("sender", toolsets=("send", "drafts"))
    email_id = structured(await call(url, reader, "list_emails", account="alex", limit=1))["results"][0]["email_id"]
    inbox = {"uri": "mail://alex/inbox"}
    half = {"ref": {"type": "ref/resource", "uri": "mail://{account}/{email_id}"}}
    asked = {"argument": {"name": "email_id", "value": ""}, "context": {"arguments": {"account": "alex"}}}

    assert (await post(url, reader, "resources/list")).json()["result"]["resources"]
    assert (await post(url, sender, "resources/list")).json().get("result", {}).get("resources", []) == []
    for uri in (inbox["uri"], f"mail://alex/{email_id}", f"mail://alex/{email_id}/raw"):
        assert "result" in (await post(url, reader, "resources/read", uri=uri)).json()
        assert "error" in (await post(url, sender, "resources/read", uri=uri)).json()
    assert email_id in (await post(url, reader, "completion/complete", **half, **asked)).text
    assert email_id not in (await post(url, sender, "completion/complete", **half, **asked)).text
    async with session(url, sender) as caller:
        with pytest.raises(MCPError):
            await caller.client.session.subscribe_resource(inbox["uri"])


async def test_a_session_belongs_to_the_client_that_opened_it(url: str, token: Callable[..., str]) -> None:
    alex, sam = token("a", accounts=("alex",)), token("s", accounts=("sam",))
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    accepts = {"accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(timeout=30) as client:
        opened = await client.post(
            url,
            json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            headers={"authorization": f"Bearer {alex}", **accepts},
        )
        stolen = {"mcp-session-id": opened.headers["mcp-session-id"], "authorization": f"Bearer {sam}", **accepts}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        answer = await client.post(url, json=listing, headers=stolen)

    assert answer.status_code == 404


async def test_a_revoked_client_is_refused_at_once_and_its_session_ends(
    url: str, token: Callable[..., str], filled: Settings
) -> None:
    given, other = token("laptop"), token("desk")

    async with session(url, given) as caller:
        assert (await caller.ok("list_emails", limit=1))["results"]
        revoke(filled.home, "laptop")
        assert (await post(url, given, "tools/list")).status_code == 401
        with pytest.raises(MCPError):
            await caller.ok("list_emails", limit=1)

    assert (await post(url, other, "tools/list")).status_code == 200


async def test_revoking_the_last_client_does_not_open_the_door(
    url: str, token: Callable[..., str], filled: Settings
) -> None:
    token("laptop")
    revoke(filled.home, "laptop")

    assert (await post(url, "", "tools/list")).status_code == 401


async def test_a_list_of_clients_that_cannot_be_read_admits_nobody(
    url: str, token: Callable[..., str], filled: Settings
) -> None:
    given = token("laptop")
    Path(filled.home, FILE).write_text("{")

    assert (await post(url, given, "tools/list")).status_code == 401
    assert (await post(url, "", "tools/list")).status_code == 401


async def test_a_client_whose_accounts_are_gone_is_told_so(
    url: str, token: Callable[..., str], filled: Settings
) -> None:
    given = token("laptop", accounts=("alex",))
    listed = filled.home / "clients.json"
    listed.write_text(listed.read_text().replace('"alex"', '"alexandra"'))

    answer = await post(url, given, "tools/list")

    assert answer.status_code == 403
    assert "there is none called alexandra" in answer.json()["error"]["message"]


async def test_a_client_left_without_any_tool_is_told_so(
    make_settings: Callable[..., Settings], token: Callable[..., str]
) -> None:
    given = token("sender", toolsets=("send",))

    async with serving(make_settings(toolsets=["read"])) as url:
        answer = await post(url, given, "tools/list")

    assert answer.status_code == 403
    assert "toolset" in answer.json()["error"]["message"]


async def test_metrics_of_all_clients_are_not_for_one_of_them(url: str, token: Callable[..., str]) -> None:
    given = token("laptop")

    async with httpx2.AsyncClient(timeout=60, headers={"authorization": f"Bearer {given}"}) as client:
        answer = await client.get(url.removesuffix("/mcp") + "/metrics")

    assert answer.status_code == 403
