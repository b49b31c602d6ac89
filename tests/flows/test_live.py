"""A change in the mailbox reaches the clients that asked for it, on every way a client can be connected."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from tests.flows import mails
from tests.flows.conftest import ERAS
from tests.flows.listener import BOUND, listening, subscribe, unsubscribe
from tests.peers.daemon import free_ports, wait_for_listener

from postroom.doors.mcp.serve import serve_http, server_for
from postroom.doors.mcp.server import PostroomServer
from postroom.model.errors import ProviderUnavailable
from postroom.providers.layers.layered import unwrapped
from postroom.providers.local import provider
from postroom.providers.local.provider import LocalMailbox
from postroom.settings import Settings
from postroom.wiring import open_gateway

INBOX = "mail://alex/inbox"
NEWS = mails.letter("Ada <ada@example.com>", "News", "It has come.", hours_ago=0, message_id="news-1")

pytestmark = pytest.mark.parametrize("era", ERAS)


async def deliver(settings: Settings, account: str = "alex", folder: str = "INBOX") -> None:
    """A new mail, brought by another gateway than the one that serves."""
    async with open_gateway(settings) as other:
        mailbox: LocalMailbox = unwrapped((await other.accounts.open(account)).mailbox)
        await mailbox.add_message(NEWS.as_bytes(), folder)


def command(settings: Settings) -> list[str]:
    config = settings.home / "postroom.toml"
    config.write_text(
        '[[accounts]]\nname = "alex"\nprovider = "local"\naddress = "alex@demo.example"\npath = "alex.db"\n'
    )
    return [sys.executable, "-m", "postroom", "serve", "--config", str(config)]


def environment(settings: Settings) -> dict[str, str]:
    return {**os.environ, "POSTROOM_HOME": str(settings.home)}


class Watchers:
    """Counts the watchers that the local mailbox has running."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.running = 0
        self.begun = 0
        self.broken = 0  # how many are still to fail after their first word
        self.none_left = anyio.Event()
        self._watch = LocalMailbox.changes
        monkeypatch.setattr(LocalMailbox, "changes", lambda mailbox: self._counted(mailbox))

    async def _counted(self, mailbox: LocalMailbox) -> AsyncGenerator[str, None]:
        self.running += 1
        self.begun += 1
        try:
            async for folder in self._watch(mailbox):
                yield folder
                if folder == "INBOX" and self.broken:
                    self.broken -= 1
                    raise ProviderUnavailable("The connection is gone.")
        finally:
            self.running -= 1
            if not self.running:
                self.none_left.set()


@pytest.fixture
def watchers(monkeypatch: pytest.MonkeyPatch) -> Watchers:
    return Watchers(monkeypatch)


@asynccontextmanager
async def served_over_http(settings: Settings) -> AsyncIterator[str]:
    ports: list[int] = []
    port_known = anyio.Event()

    def announce(port: int) -> None:
        ports.append(port)
        port_known.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_http, settings, "127.0.0.1", 0, announce)
        await port_known.wait()
        yield f"http://127.0.0.1:{ports[0]}/mcp"
        tasks.cancel_scope.cancel()


async def test_a_new_mail_is_told_and_can_be_read_at_once(filled: Settings, server: PostroomServer, era: str) -> None:
    async with listening(server, era, INBOX) as listener:
        await deliver(filled)
        assert await listener.next() == INBOX

        (content,) = (await listener.client.read_resource(INBOX)).contents
        assert "News" in content.text  # type: ignore[union-attr]
        assert "<untrusted-" in content.text  # type: ignore[union-attr]


async def test_it_is_told_over_http(filled: Settings, era: str) -> None:
    async with served_over_http(filled) as url, listening(url, era, INBOX) as listener:
        await deliver(filled)
        assert await listener.next() == INBOX


async def test_it_is_told_over_stdio(filled: Settings, era: str) -> None:
    program, *arguments = command(filled)
    parameters = StdioServerParameters(command=program, args=arguments, env=environment(filled))
    async with listening(parameters, era, INBOX) as listener:
        await deliver(filled)
        assert await listener.next() == INBOX


async def test_a_server_that_is_told_to_end_does_so_though_clients_listen(filled: Settings, era: str) -> None:
    (port,) = free_ports(1)
    log = filled.home / "stderr.txt"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command(filled), "--http", f"127.0.0.1:{port}"], env=environment(filled), stdout=errors, stderr=errors
        )
    try:
        wait_for_listener(port, log, process=process)
        async with listening(f"http://127.0.0.1:{port}/mcp", era, INBOX):
            process.send_signal(signal.SIGINT)
            assert await anyio.to_thread.run_sync(process.wait, BOUND) == 0
    finally:
        process.kill()


async def test_what_the_client_does_itself_is_told_as_well(server: PostroomServer, era: str) -> None:
    async with listening(server, era, INBOX) as listener:
        page = (await listener.client.call_tool("list_emails", {"limit": 1})).structured_content
        assert page is not None
        await listener.client.call_tool("mark_email", {"email_id": page["results"][0]["email_id"], "flag": "starred"})
        assert await listener.next() == INBOX


async def test_only_the_inboxes_that_were_asked_for_are_told_of(
    filled: Settings, server: PostroomServer, era: str
) -> None:
    async with listening(server, era, "mail://sam/inbox") as listener:
        await deliver(filled, "alex")
        await deliver(filled, "sam", "Archive")
        await deliver(filled, "sam")
        assert await listener.next() == "mail://sam/inbox"


async def test_without_a_subscription_nothing_is_watched(server: PostroomServer, watchers: Watchers, era: str) -> None:
    async with Client(server, mode=era) as client:
        await client.read_resource(INBOX)
    assert watchers.begun == 0


async def test_all_subscribers_share_one_watcher_which_ends_with_the_last(
    filled: Settings, watchers: Watchers, era: str
) -> None:
    async with served_over_http(filled) as url:
        async with listening(url, "legacy", INBOX) as first:
            async with listening(url, era, INBOX) as second, listening(url, "2026-07-28", INBOX) as third:
                await deliver(filled)
                assert [await listener.next() for listener in (first, second, third)] == [INBOX] * 3
                assert (watchers.begun, watchers.running) == (1, 1)
            await deliver(filled)
            assert await first.next() == INBOX
            assert watchers.running == 1
        with anyio.fail_after(BOUND):
            await watchers.none_left.wait()
        assert watchers.begun == 1


async def test_a_watcher_that_breaks_is_replaced_and_tells_what_may_have_been_missed(
    filled: Settings, server: PostroomServer, watchers: Watchers, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setattr("postroom.service.accounts.watching._FIRST_PAUSE", 0.01)
    watchers.broken = 1
    async with listening(server, era, INBOX) as listener:
        assert await listener.next() == INBOX  # something may have come while nobody watched
        assert (watchers.begun, watchers.running) == (2, 1)
        await deliver(filled)
        assert await listener.next() == INBOX


async def test_a_client_that_unsubscribes_ends_the_watcher(
    server: PostroomServer, watchers: Watchers, era: str
) -> None:
    if era == "legacy":
        async with Client(server, mode=era) as client:
            await subscribe(client, INBOX)
            await subscribe(client, INBOX)
            await unsubscribe(client, INBOX)
            with anyio.fail_after(BOUND):
                await watchers.none_left.wait()
    else:
        async with Client(server, mode=era) as client:
            async with client.listen(resource_subscriptions=[INBOX]):
                assert watchers.running == 1
            with anyio.fail_after(BOUND):
                await watchers.none_left.wait()
    assert watchers.begun == 1


@pytest.mark.parametrize("uri", ["mail://alex/e0000000000", "mail://nobody/inbox", "file:///etc/passwd"])
async def test_what_cannot_be_watched_is_not_promised(
    server: PostroomServer, watchers: Watchers, era: str, uri: str
) -> None:
    if era == "legacy":
        async with Client(server, mode=era) as client:
            with pytest.raises(MCPError, match="mail://alex/inbox, mail://sam/inbox"):
                await subscribe(client, uri)
    else:
        async with listening(server, era, uri) as listener:
            assert listener.honoured == []
    assert watchers.begun == 0


async def test_a_provider_that_does_not_tell_of_changes_promises_none(
    server: PostroomServer, watchers: Watchers, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setattr(provider, "CAPABILITIES", replace(provider.CAPABILITIES, has_push=False))
    if era == "legacy":
        async with Client(server, mode=era) as client:
            with pytest.raises(MCPError, match="does not report changes"):
                await subscribe(client, INBOX)
    else:
        async with listening(server, era, INBOX) as listener:
            assert listener.honoured == []
    assert watchers.begun == 0


async def test_the_inboxes_are_listed_and_said_to_be_subscribable(server: PostroomServer, era: str) -> None:
    async with Client(server, mode=_asking(era)) as client:
        listed = (await client.list_resources()).resources
        assert [resource.uri for resource in listed] == ["mail://alex/inbox", "mail://sam/inbox"]
        capabilities = client.server_capabilities
        assert capabilities is not None
        assert capabilities.resources is not None
        assert capabilities.resources.subscribe


async def test_a_dialect_without_mail_resources_offers_no_subscriptions(
    make_settings: Callable[..., Settings], era: str
) -> None:
    async with Client(server_for(make_settings(dialect="drafts")), mode=_asking(era)) as client:
        assert (await client.list_resources()).resources == []
        capabilities: Any = client.server_capabilities
        assert not capabilities.resources.subscribe


def _asking(era: str) -> str:
    """A client of that era that asks the server what it can do."""
    return "legacy" if era == "legacy" else "auto"


async def test_a_post_without_a_session_cannot_subscribe(filled: Settings, era: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": INBOX}}
    async with served_over_http(filled) as url, httpx2.AsyncClient(timeout=60) as client:
        headers = {"mcp-protocol-version": "2025-06-18"} if era == "legacy" else {}
        answer = (await client.post(url, json=message, headers=headers)).json()
    assert "session" in answer["error"]["message"]
