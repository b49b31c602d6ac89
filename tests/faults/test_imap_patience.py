"""Servers that hang up again and again are not hammered; those that are silently gone are not waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.dovecot import Dovecot
from tests.peers.faultproxy import FaultProxy, faulty

from postroom.model.errors import ProviderUnavailable
from postroom.providers.context import ProviderContext
from postroom.providers.imap import watching
from postroom.providers.imap.provider import ImapMailbox
from postroom.providers.imap.session import pool
from postroom.settings import ImapAccount

FOR_EVER = 600  # seconds: a timeout that no test would live to see


@pytest.fixture
def proxy(dovecot: Dovecot) -> Iterator[FaultProxy]:
    with faulty(dovecot.imap) as proxy:
        yield proxy


@pytest.fixture
def account(dovecot: Dovecot, proxy: FaultProxy) -> ImapAccount:
    return imap_account(dovecot, port=proxy.port, timeout=2)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the watcher would have waited each time; it does not wait here."""
    pauses: list[float] = []

    async def noted(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(watching, "sleep", noted)
    return pauses


async def listened(account: ImapAccount, times: int) -> None:
    async with opened(account) as mailbox, aclosing(mailbox.changes()) as news:
        for _ in range(times):
            await anext(news)


async def test_a_server_that_lets_nobody_listen_is_asked_less_and_less_often(
    account: ImapAccount, proxy: FaultProxy, pauses: list[float]
) -> None:
    proxy.reset(cut_on_client=b"IDLE")
    await listened(account, 6)
    assert pauses == [1, 2, 4, 8, 16], "each try is a login, and who logs in ten times a second is locked out"


async def test_a_connection_that_held_for_a_while_is_replaced_at_once(
    account: ImapAccount, proxy: FaultProxy, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_HELD", 0)
    proxy.reset(cut_on_client=b"IDLE")
    await listened(account, 3)
    assert pauses == [0, 0]


async def test_a_goodbye_before_or_while_it_listens_does_not_end_the_watching(
    dovecot: Dovecot, pauses: list[float]
) -> None:
    account = imap_account(dovecot)
    async with opened(account) as mailbox, aclosing(mailbox.changes()) as news:
        with anyio.fail_after(60):
            for _ in range(4):
                assert await anext(news) == "INBOX"
                await anyio.to_thread.run_sync(dovecot.doveadm, "kick", account.address)


async def cancelled_when_heard(proxy: FaultProxy, call: Callable[[], Awaitable[Any]]) -> None:
    """Begin the call, wait until the server would have heard of it, and give up waiting for it."""
    async with anyio.create_task_group() as group:
        before = len(proxy.heard)
        group.start_soon(call)
        while len(proxy.heard) == before:
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()


async def test_a_reader_who_gives_up_is_free_at_once_and_the_next_is_served(
    dovecot: Dovecot, proxy: FaultProxy
) -> None:
    account = imap_account(dovecot, port=proxy.port, timeout=FOR_EVER, max_connections=1)
    with anyio.fail_after(60):
        async with opened(account) as mailbox:
            proxy.reset(drip=FOR_EVER)
            await cancelled_when_heard(proxy, mailbox.folders)
            proxy.reset()
            assert any(folder.role == "inbox" for folder in await mailbox.folders())


async def test_a_change_goes_on_to_its_end_when_nobody_waits_for_it(account: ImapAccount, proxy: FaultProxy) -> None:
    async with opened(account) as mailbox:
        draft = await mailbox.create_draft(letter("one"))
        proxy.reset(drip=0.002)

        async def star() -> None:
            await mailbox.set_flags([draft.ref], add=["starred"])

        await cancelled_when_heard(proxy, star)
        proxy.reset()
        assert (await mailbox.fetch(draft.ref)).envelope.starred


async def test_a_server_that_drips_its_greeting_is_given_up_too(
    dovecot: Dovecot, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_PATIENCE", 1)
    proxy.reset(drip=0.3)
    with anyio.fail_after(60), pytest.raises(ProviderUnavailable, match="in time"):
        async with opened(imap_account(dovecot, port=proxy.port, timeout=1)):
            pass


async def test_leaving_does_not_wait_for_servers_that_are_silently_gone(
    dovecot: Dovecot, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_FAREWELL", 0.05)
    mailbox = ImapMailbox(imap_account(dovecot, port=proxy.port, timeout=FOR_EVER), ProviderContext(Path()))
    await mailbox.connect()
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(mailbox.folders)
    proxy.reset(silent=True)
    with anyio.fail_after(60):
        await mailbox.close()
