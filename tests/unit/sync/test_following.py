"""A mirror that is followed learns of new messages from the server, not by asking again and again."""

from __future__ import annotations

import anyio
import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.unit.sync.conftest import Mirrored

from postroom.sync import syncing as following
from postroom.sync.syncing import Syncing

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
