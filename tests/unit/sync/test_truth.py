"""Whatever a second client does, after a run the mirror equals the server, message by message.

Which random histories are played: see `seeds`.
"""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.cyrus import Cyrus
from tests.peers.dovecot import Dovecot
from tests.peers.faultproxy import faulty
from tests.unit.sync.checking import handles_lead_there, same
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.second_client import SecondClient
from tests.unit.sync.seeds import SEEDS

from postroom.model.errors import PostroomError
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import syncing as following
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio

STEPS = 8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("peer", ["dovecot", "middling", "poor", "cyrus"])
async def test_a_mirror_equals_its_server_after_every_run(
    peer: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Dovecot | Cyrus = request.getfixturevalue(peer)
    mirrored = Mirrored(server, server.new_user("truth"), Mirror(tmp_path / "mirrors" / "mine.db"), {})
    chance = random.Random(f"{peer} {seed}")
    second = SecondClient(mirrored, chance)
    handles = Handles(Database(tmp_path / "state.db"))
    shown: dict[str, str] = {}  # handle -> the key of the message it was issued for
    alone: set[str] = set()  # handles of messages that the server had once after the previous run
    history: list[str] = []
    for _ in range(STEPS):
        history += second.act(chance.randint(1, 8))
        if chance.random() < 0.4:
            history.append("cut")
            await _cut_run(mirrored, chance, handles)
        await mirrored.sync(Tools(handles))
        there = second.everything()
        same(mirrored, there, history)
        handles_lead_there(handles, shown, there, alone, history)
        history.append("|")
    await _same_as_the_provider_says(mirrored)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("peer", ["dovecot", "middling", "poor", "cyrus"])
async def test_a_mirror_equals_its_server_after_every_look_over_the_same_connections(
    peer: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """They keep folders open from look to look."""
    server: Dovecot | Cyrus = request.getfixturevalue(peer)
    mirrored = Mirrored(server, server.new_user("looks"), Mirror(tmp_path / "mirrors" / "mine.db"), {})
    chance = random.Random(f"{peer} {seed} looks")
    second = SecondClient(mirrored, chance)
    history: list[str] = []
    account = imap_account(server, mirrored.user, **({"mirror": "full"} | mirrored.changes))
    async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as syncing:
        for _ in range(STEPS * 2):
            history += [*second.act(chance.randint(1, 4)), "|"]
            await syncing.once()
            same(mirrored, second.everything(), history)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("peer", ["dovecot", "middling", "poor", "cyrus"])
async def test_a_mirror_that_is_followedcomes_to_equal_its_server(
    peer: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that are announced are written between one look and the next, whatever happens to them meanwhile."""
    monkeypatch.setattr(following, "POLL_SECONDS", 0.3)
    server: Dovecot | Cyrus = request.getfixturevalue(peer)
    mirrored = Mirrored(server, server.new_user("follow"), Mirror(tmp_path / "mirrors" / "mine.db"), {})
    chance = random.Random(f"{peer} {seed} follow")
    second = SecondClient(mirrored, chance)
    history: list[str] = []
    account = imap_account(server, mirrored.user, **({"mirror": "full"} | mirrored.changes))
    async with (
        opened(account) as mailbox,
        Syncing(mirrored.mirror, mailbox, account) as syncing,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(syncing.follow)
        for _ in range(STEPS):
            history += [*await anyio.to_thread.run_sync(second.act, chance.randint(1, 4)), "|"]
            await comes_to_equal(mirrored, second, history)
        tasks.cancel_scope.cancel()


async def comes_to_equal(mirrored: Mirrored, second: SecondClient, history: list[str]) -> None:
    until = anyio.current_time() + 30
    while True:
        there = await anyio.to_thread.run_sync(second.everything)
        try:
            same(mirrored, there, history)
        except AssertionError:
            if anyio.current_time() > until:
                raise
            await anyio.sleep(0.05)
        else:
            return


async def _cut_run(mirrored: Mirrored, chance: random.Random, handles: Handles) -> None:
    with faulty(mirrored.dovecot.imap) as proxy:
        account = imap_account(
            mirrored.dovecot, mirrored.user, port=proxy.port, **({"mirror": "full"} | mirrored.changes)
        )
        proxy.reset(cut_after_down=chance.randint(600, 12_000))
        with suppress(PostroomError):
            async with (
                opened(account) as mailbox,
                Syncing(mirrored.mirror, mailbox, account, Tools(handles)) as syncing,
            ):
                await syncing.once()


async def _same_as_the_provider_says(mirrored: Mirrored) -> None:
    rows = mirrored.rows()
    async with mirrored.mailbox() as mailbox:
        asked = await mailbox.envelopes(list(rows))
    assert {row.ref: row for row in asked if row is not None} == rows
