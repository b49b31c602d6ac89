"""A mirror that is followed learns of new messages from the server, not by asking again and again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.unit.sync.conftest import Mirrored

from postroom.model.changes import Announced
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.sync.following import syncing as following
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("folder", ["INBOX", "Archive", "B&APw-ro"])
async def test_a_message_that_is_delivered_is_found_without_waiting_for_the_next_look(
    mirrored: Mirrored, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 3600.0)
    with mirrored.client() as client:
        client.create("B&APw-ro")
        client.append(folder, "", None, letter("first"))
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    async with (
        opened(account) as mailbox,
        Syncing(mirrored.mirror, mailbox, account) as syncing,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(syncing.follow)
        with anyio.fail_after(30):
            for number in (1, 2, 3):
                await _until(mirrored, number)
                await anyio.to_thread.run_sync(_deliver, mirrored, folder, number)
            await _until(mirrored, 4)
        tasks.cancel_scope.cancel()


def _deliver(mirrored: Mirrored, folder: str, number: int) -> None:
    with mirrored.client() as client:
        client.append(folder, "", None, letter(f"news{number}"))


async def _until(mirrored: Mirrored, count: int) -> None:
    while mirrored.mirror.status().messages < count:
        await anyio.sleep(0.02)


async def test_a_mirror_that_is_followed_starts_over_soon_when_somebody_asks_for_it(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 3600.0)
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    await anyio.to_thread.run_sync(_deliver, mirrored, "INBOX", 1)
    async with (
        opened(account) as mailbox,
        Syncing(mirrored.mirror, mailbox, account) as syncing,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(syncing.follow)
        with anyio.fail_after(30):
            await _until(mirrored, 1)
            before = mirrored.mirror.path.stat().st_ino
            mirrored.mirror.ask_for_rebuild("reset")
            while mirrored.mirror.is_rebuild_asked or not mirrored.mirror.status().complete:
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    assert (mirrored.mirror.path.stat().st_ino != before, len(mirrored.rows())) == (True, 1)


async def test_a_watch_that_fails_as_nobody_thought_of_is_begun_again_and_ends_no_mirror(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process keeps the mirrors of all accounts."""

    class Defective(ImapMailbox):
        watches = 0

        async def announced(self, *, max_bytes: int) -> AsyncGenerator[Announced, None]:
            self.watches += 1
            if self.watches < 3:
                raise OverflowError("what the server says")
            async with aclosing(super().announced(max_bytes=max_bytes)) as news:
                async for one in news:
                    yield one

    monkeypatch.setattr(following, "POLL_SECONDS", 0.01)
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    mailbox = Defective(account, ProviderContext(mirrored.mirror.path.parent))
    try:
        async with Syncing(mirrored.mirror, mailbox, account) as syncing, anyio.create_task_group() as tasks:
            tasks.start_soon(syncing.follow)
            with anyio.fail_after(30):
                while mailbox.watches < 3:
                    await anyio.sleep(0.02)
                await anyio.to_thread.run_sync(_deliver, mirrored, "INBOX", 1)
                await _until(mirrored, 1)
            tasks.cancel_scope.cancel()
    finally:
        await mailbox.close()
