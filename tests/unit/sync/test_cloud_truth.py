"""Whatever others do to a Gmail or Microsoft 365 mailbox, at any moment of a run, after the next run the mirror equals
the server, message by message.

Which random histories are played: see `seeds`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from tests.unit.sync.cloud import Cloud, cloud_of
from tests.unit.sync.cloud_checking import handles_lead_there, same
from tests.unit.sync.seeds import SEEDS

from postroom.model.errors import PostroomError, ProviderUnavailable
from postroom.providers.gmail.mail import labels
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.following import by_listing
from postroom.sync.following.syncing import Tools

pytestmark = pytest.mark.anyio

STEPS = 8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("provider", ["gmail", "graph"])
async def test_a_mirror_equals_its_server_after_every_run(
    provider: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 3)
    monkeypatch.setattr(by_listing, "_PAGE", 5)
    monkeypatch.setattr(by_listing, "_CHANGES", 4)
    chance = random.Random(f"{provider} {seed}")
    monkeypatch.setattr(labels, "_KEPT", chance.choice([0.0, 30.0]))
    handles = Handles(Database(tmp_path / "state.db"))
    history: list[str] = []
    shown: dict[str, str] = {}
    async with cloud_of(provider, tmp_path) as cloud, cloud.mailbox() as mailbox:
        for action in ["new_folder"] * 3 + ["deliver"] * chance.randint(0, 30):
            getattr(cloud.side, action)(chance)
        for _ in range(STEPS):
            history += [cloud.do(chance) for _ in range(chance.randint(1, 8))]
            same_one = chance.choice([mailbox, None])  # which remembers what it was told, or another
            await _disturbed(cloud, chance, Tools(handles, clock=_quick()), same_one, history)
            await cloud.sync(Tools(handles), same_one)
            await same(cloud, history)
            handles_lead_there(cloud, handles, shown, history)
            history.append("|")


async def _disturbed(cloud: Cloud, chance: random.Random, tools: Tools, mailbox: object, history: list[str]) -> None:
    """A run during which others go on, and which may be cut."""
    left = [chance.choice(["act", "act", "act", "cut"]) for _ in range(chance.randint(0, 5))]

    def before(verb: str) -> None:
        if left and chance.random() < 0.25:
            event = left.pop()
            history.append(f"{verb}: {cloud.do(chance) if event == 'act' else event}")
            if event == "cut":
                raise ProviderUnavailable("The server is away.")

    cloud.before = before
    with suppress(PostroomError):
        await cloud.sync(tools, mailbox)
    cloud.before = lambda verb: None


def _quick() -> Callable[[], float]:
    """A clock by which ten seconds pass between two looks: a fill looks at the server after every page."""
    moments = count(time.time(), 10.0)
    return lambda: next(moments)
