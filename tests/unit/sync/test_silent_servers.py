"""A server that accepts connections and answers nothing: the mirror answers in its place, without a long wait."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from tests.peers.accounts import imap_account, letter
from tests.peers.faultproxy import faulty
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import Desk

from postroom.model.query.tree import Query, Text
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.pool import Pool
from postroom.settings import ImapAccount
from postroom.sync.answering import patience

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_DOUBT", 0.1)
    monkeypatch.setattr(patience, "_PATIENCE", 0.5)


@asynccontextmanager
async def silent(mirrored: Mirrored, *, max_age: float, **changes: Any) -> AsyncIterator[Desk]:
    """One letter is in the mirror, the server falls silent, and a process starts, perhaps with other settings. Whoever
    waited for the server would wait for an hour."""
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("one", text="An elephant."))
    with faulty(mirrored.dovecot.imap) as proxy, anyio.fail_after(60):
        mirrored.changes = {**mirrored.changes, "port": proxy.port, "timeout": 3600}
        await mirrored.sync()
        mirrored.changes |= changes
        later = Desk(mirrored, proxy, max_age=max_age, catches_up=True)
        proxy.reset(silent=True)
        proxy.connections = 0
        try:
            yield later
        finally:
            with anyio.CancelScope(shield=True):
                proxy.cut_all()
                await later.mailbox.close()


async def test_a_fresh_mirror_answers_at_once(mirrored: Mirrored) -> None:
    async with silent(mirrored, max_age=3600.0) as it:
        assert (await it.mailbox.connect()).provider == "imap"
        (row,) = (await it.list(Query(Text("elephant")))).items
        assert (await it.mailbox.fetch(row.ref)).body.text.strip() == "An elephant."
        assert it.proxy.connections == 0
        assert it.layer.outage.since is None


async def test_what_an_account_can_do_is_asked_again_where_its_settings_changed(mirrored: Mirrored) -> None:
    async with silent(mirrored, max_age=3600.0, smtp_host="smtp.example.test") as it:
        it.proxy.reset()
        assert (await it.mailbox.connect()).can_send


async def test_an_old_mirror_answers_once_the_server_is_found_silent(mirrored: Mirrored) -> None:
    async with silent(mirrored, max_age=0.0) as it:
        await it.mailbox.connect()
        assert [row.subject for row in (await it.list()).items] == ["one"]
        assert "INBOX" in [folder.name for folder in await it.mailbox.folders()]
        assert it.layer.outage.since is not None
        tried = it.proxy.connections
        await it.list()
        assert it.proxy.connections == tried


async def test_a_server_that_falls_silent_later_is_found_out_too(mirrored: Mirrored) -> None:
    async with silent(mirrored, max_age=0.0) as it:
        it.proxy.reset()
        await it.mailbox.connect()
        (row,) = (await it.list()).items
        it.proxy.reset(silent=True)
        assert [one.ref for one in (await it.list()).items] == [row.ref]
        it.layer.outage.end()
        assert [one and one.ref for one in await it.mailbox.envelopes([row.ref])] == [row.ref]
        it.layer.outage.end()
        assert "INBOX" in [folder.name for folder in await it.mailbox.folders()]


async def test_a_server_that_is_slow_and_responds_to_others_is_waited_for(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_PATIENCE", 30.0)
    async with silent(mirrored, max_age=0.0) as it:
        it.proxy.reset(drip=0.002)
        with mirrored.mirror.lock() as held:  # type: ignore[union-attr]
            assert held is not None
            assert (await it.list()).as_of is None  # of the server itself
        assert it.layer.outage.since is None


async def test_where_the_mirror_has_nothing_the_server_is_waited_for(mirrored: Mirrored) -> None:
    async with silent(mirrored, max_age=0.0) as it:
        mirrored.mirror.remove()
        with anyio.move_on_after(2) as waited:
            await it.mailbox.connect()
        assert waited.cancelled_caught


async def test_a_connection_that_nobody_waits_for_any_more_is_broken_off(mirrored: Mirrored) -> None:
    """Its thread would keep the process from ending."""
    async with silent(mirrored, max_age=0.0) as it:
        await it.mailbox.connect()
        assert it.proxy.connections > 0
        while it.proxy._links:
            await anyio.sleep(0.01)


async def test_the_system_notices_when_nobody_is_at_the_other_end_any_more(mirrored: Mirrored) -> None:
    """Of a connection that waits for news, and sends nothing for half an hour."""
    session = await anyio.to_thread.run_sync(Session, imap_account(mirrored.dovecot, mirrored.user))
    assert session._client.socket().getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    session.close()


async def test_a_handshake_that_nobody_waits_for_any_more_is_broken_off() -> None:
    """Of STARTTLS: the server agrees to it and then says nothing."""
    begun, ended = anyio.Event(), anyio.Event()

    async def serve(stream: SocketStream) -> None:
        await stream.send(b"* OK [CAPABILITY IMAP4rev1 STARTTLS] Welcome.\r\n")
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                tag, _, command = (await stream.receive()).partition(b" ")
                if command.startswith(b"CAPABILITY"):
                    await stream.send(b"* CAPABILITY IMAP4rev1 STARTTLS\r\n" + tag + b" OK done\r\n")
                elif command.startswith(b"STARTTLS"):
                    await stream.send(tag + b" OK done\r\n")
                else:
                    begun.set()
        ended.set()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        port = listener.extra(SocketAttribute.local_port)
        account = ImapAccount(name="mine", address="me@example.test", host="127.0.0.1", port=port, security="starttls")
        with anyio.fail_after(20):
            async with anyio.create_task_group() as readers:
                readers.start_soon(Pool(account).run, "INBOX", id)
                await begun.wait()
                readers.cancel_scope.cancel()
            await ended.wait()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("security", ["none", "starttls"])
async def test_a_server_that_greets_and_is_slow_with_everything_else_responds(security: str) -> None:
    ended = anyio.Event()

    async def serve(stream: SocketStream) -> None:
        await stream.send(b"* OK Welcome.\r\n")
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                await stream.receive()
        ended.set()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        port = listener.extra(SocketAttribute.local_port)
        account = ImapAccount(name="mine", address="me@example.test", host="127.0.0.1", port=port, security=security)
        with anyio.fail_after(30):
            await Pool(account).greeting()
            await ended.wait()
        tasks.cancel_scope.cancel()
