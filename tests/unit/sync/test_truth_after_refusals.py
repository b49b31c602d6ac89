"""Whatever a server refuses while a second client goes on, no run fails of it, and the first run in which it refuses
nothing makes the mirror equal it, message by message and handle by handle."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.cyrus import Cyrus
from tests.peers.dovecot import Dovecot
from tests.peers.faultproxy import FaultProxy, faulty
from tests.unit.sync.checking import handles_lead_there, same
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.second_client import SecondClient
from tests.unit.sync.seeds import SEEDS
from tests.unit.sync.test_truth import STEPS, comes_to_equal

from postroom.providers.imap import watching
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import syncing as following
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio

ANSWERS = (b"NO [INUSE] locked", b"NO [UNAVAILABLE] later", b"NO [LIMIT] enough", b"NO [SERVERBUG] oops", b"NO no")
OF_A_FOLDER = (b"SELECT", b"EXAMINE", b"STATUS", b"UID FETCH", b"UID SEARCH")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("peer", ["dovecot", "middling", "poor", "cyrus"])
async def test_a_mirror_equals_its_server_as_soon_as_that_refuses_nothing(
    peer: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Dovecot | Cyrus = request.getfixturevalue(peer)
    mirrored = Mirrored(server, server.new_user("refusals"), Mirror(tmp_path / "mirrors" / "mine.db"), {})
    chance = random.Random(f"{peer} {seed} refusals")
    second = SecondClient(mirrored, chance)
    handles = Handles(Database(tmp_path / "state.db"))
    shown: dict[str, str] = {}
    alone: set[str] = set()
    history: list[str] = []
    with faulty(server.imap) as proxy:
        for _ in range(STEPS):
            for _ in range(chance.randint(1, 3)):
                history += [*second.act(chance.randint(1, 4)), "refused"]
                await _refused_run(mirrored, proxy, chance, handles)
            await mirrored.sync(Tools(handles))
            assert mirrored.mirror.status().refusals == ""
            there = second.everything()
            same(mirrored, there, history)
            handles_lead_there(handles, shown, there, alone, history)
            history.append("|")


async def _refused_run(mirrored: Mirrored, proxy: FaultProxy, chance: random.Random, handles: Handles) -> None:
    account = imap_account(mirrored.dovecot, mirrored.user, port=proxy.port, **({"mirror": "full"} | mirrored.changes))
    proxy.reset(refuse=refusing(chance))
    async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account, Tools(handles)) as syncing:
        await syncing.once()


def refusing(chance: random.Random) -> Callable[[bytes], bytes | None]:
    """From some command on, or, where the server says "later", now and then."""
    answer, share, asked = chance.choice(ANSWERS), chance.choice((0.1, 0.3, 1.0)), itertools.count()
    first = chance.randint(0, 30)
    is_for_now = answer in ANSWERS[:3]

    def refuse(command: bytes) -> bytes | None:
        if not command.startswith(OF_A_FOLDER):
            return None
        return answer if (chance.random() < share if is_for_now else next(asked) >= first) else None

    return refuse


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("peer", ["dovecot", "poor"])
async def test_a_mirror_that_is_followed_comes_to_equal_its_server_after_refusals(
    peer: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 0.3)
    server: Dovecot = request.getfixturevalue(peer)
    mirrored = Mirrored(server, server.new_user("follow"), Mirror(tmp_path / "mirrors" / "mine.db"), {})
    chance = random.Random(f"{peer} {seed} followed")
    second = SecondClient(mirrored, chance)
    history: list[str] = []
    with faulty(server.imap) as proxy:
        account = imap_account(server, mirrored.user, port=proxy.port, mirror="full")
        async with (
            opened(account) as mailbox,
            Syncing(mirrored.mirror, mailbox, account) as syncing,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(syncing.follow)
            for _ in range(STEPS // 2):
                proxy.reset(refuse=refusing(chance))
                history += [*await anyio.to_thread.run_sync(second.act, chance.randint(1, 6)), "|"]
                proxy.reset()
                await comes_to_equal(mirrored, second, history)
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("answer", ANSWERS, ids=bytes.decode)
async def test_an_inbox_that_is_refused_is_watched_as_soon_as_it_can_be(
    mirrored: Mirrored, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty(mirrored.dovecot.imap) as proxy:
        account = imap_account(mirrored.dovecot, mirrored.user, port=proxy.port)
        pauses: list[float] = []

        async def heal(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                proxy.reset()

        monkeypatch.setattr(watching, "sleep", heal)
        async with opened(account) as mailbox, aclosing(mailbox.changes()) as changes:
            proxy.reset(refuse=lambda command: answer if command.startswith(OF_A_FOLDER) else None)
            assert await anext(changes) == "INBOX"
        assert len(pauses) == 2
