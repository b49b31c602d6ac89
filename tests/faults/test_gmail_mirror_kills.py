"""`postroom sync` of a Gmail account is killed while it waits for an answer, others change the mailbox, and a run after
that has everything, as it is."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread
import pytest
from tests.contract.mails import mail
from tests.unit.sync.cloud import Cloud, cloud_of
from tests.unit.sync.cloud_checking import handles_lead_there, same

from postroom.store.database import Database
from postroom.store.handles import Handles

pytestmark = pytest.mark.anyio

CONFIG = """
[[accounts]]
name = "mine"
provider = "gmail"
address = "{address}"
base_url = "{url}"
token_env = "MAIL_TOKEN"
units_per_minute = 10000000
mirror = "full"
"""
BATCHES = 8  # of a first fill of so many messages there are about as many
MESSAGES = 90


@pytest.fixture
async def gmail(tmp_path: Path) -> AsyncIterator[Cloud]:
    async with cloud_of("gmail", tmp_path) as cloud:
        labels = [cloud.side.user.labels.create(name).id for name in ("Ours", "Theirs")]
        for number in range(MESSAGES):
            places = [{"INBOX"}, {labels[0]}, {labels[1], "TRASH"}, {"SENT", *labels}][number % 4]
            cloud.side.peer.deliver(cloud.side.user, mail(f"m{number}"), places)
        (tmp_path / "postroom.toml").write_text(CONFIG.format(address=cloud.side.user.address, url=cloud.side.peer.url))
        yield cloud


def started(gmail: Cloud, home: Path) -> subprocess.Popen[str]:
    token = gmail.side.peer.token(gmail.side.user)
    return subprocess.Popen(
        [sys.executable, "-m", "postroom", "sync", "--config", str(home / "postroom.toml")],
        env={**os.environ, "POSTROOM_HOME": str(home), "MAIL_TOKEN": token},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill_at(gmail: Cloud, home: Path, request: tuple[str, str], number: int) -> None:
    """While it waits for the answer to the n-th request of that kind, or after it ended because there were fewer."""
    hold = gmail.side.peer.hold_next(*request)
    process = started(gmail, home)
    try:
        for count in range(1, number + 1):
            while not hold.reached.wait(0.2) and process.poll() is None:
                pass
            if count < number:
                following = gmail.side.peer.hold_next(*request)
                hold.release()
                hold = following
    finally:
        process.kill()
        process.communicate()
        hold.release()
        gmail.side.peer.forget_faults()


def finish(gmail: Cloud, home: Path) -> None:
    process = started(gmail, home)
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0, told


@pytest.mark.parametrize("seed", range(int(os.environ.get("MIRROR_SEEDS", "1"))))
async def test_runs_that_are_killed_at_any_request_leave_no_gap_and_nothing_twice(
    gmail: Cloud, seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    handles, shown = Handles(Database(tmp_path / "state.db")), dict[str, str]()
    history: list[str] = []
    for _ in range(2):  # a first fill, and then what changed
        for _ in range(2):
            request = chance.choice(
                [("POST", "batch"), ("POST", "batch"), ("GET", "messages.list"), ("GET", "history.list")]
            )
            history.append(f"killed at {request}")
            await anyio.to_thread.run_sync(kill_at, gmail, tmp_path, request, chance.randint(1, BATCHES))
            history += [gmail.do(chance) for _ in range(chance.randint(0, 10))]
        await anyio.to_thread.run_sync(finish, gmail, tmp_path)
        await same(gmail, history)
        handles_lead_there(gmail, handles, shown, history)
