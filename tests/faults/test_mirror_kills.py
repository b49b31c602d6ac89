"""kill -9 at every place where a run that fills a mirror, or brings it up to date, has just written something or is
about to. The next run completes it: nothing is missing, nothing is there twice, every handle leads to its message.

MIRROR_SEEDS above the usual 2 tries every place instead of every few.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.dovecot import Dovecot
from tests.unit.sync.checking import handles_lead_there, keeps_the_bytes, same
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.filling import spool_everything
from tests.unit.sync.second_client import SecondClient, There

from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Tools

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
STRIDE = 5 if int(os.environ.get("MIRROR_SEEDS", "2")) <= 2 else 1
Order = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def victim() -> Iterator[Order]:
    command = [sys.executable, "-m", "tests.faults.mirror_victim"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None

    def carried_out(**order: Any) -> dict[str, Any]:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield carried_out
    process.stdin.close()
    process.wait(20)


@pytest.mark.parametrize("kind", ["fill", "spooled fill", "change", "spooled change", "reset", "spooled reset"])
async def test_a_run_that_is_killed_anywhere_is_completed_by_the_next(
    kind: str, victim: Order, dovecot: Dovecot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where messages are spooled, those of the run before are not packed yet."""
    spools = kind.startswith("spooled")
    if spools:
        spool_everything(monkeypatch.setattr)
    mirrored = Mirrored(dovecot, dovecot.new_user("killed"), Mirror(tmp_path / "before" / "mine.db"), {})
    second = SecondClient(mirrored, random.Random(7))
    second.act(30)
    shown: dict[str, str] = {}
    alone: set[str] = set()
    if not kind.endswith("fill"):
        await (mirrored.find() if spools else mirrored.sync())
        handles_lead_there(Handles(Database(tmp_path / "before" / "state.db")), shown, second.everything(), alone)
        second.act(25)
        dovecot.renumber(mirrored.user)
    if kind.endswith("reset"):
        mirrored.mirror.ask_for_rebuild("reset")
    mirrored.mirror.close()
    (tmp_path / "before").mkdir(exist_ok=True)
    server = second.everything()
    kill_at, was_killed = 1, True
    while was_killed:
        home = tmp_path / f"at{kill_at}"
        shutil.copytree(tmp_path / "before", home)
        was_killed = await _killed_and_completed(mirrored, victim, home, kill_at, spools, server, dict(shown), alone)
        kill_at += STRIDE
    assert kill_at > 3 * STRIDE  # it was killed at several places before there were no more


async def _killed_and_completed(
    mirrored: Mirrored,
    victim: Order,
    home: Path,
    kill_at: int,
    spools: bool,
    server: dict[str, There],
    shown: dict[str, str],
    alone: set[str],
) -> bool:
    files = {"mirror": str(home / "mine.db"), "state": str(home / "state.db")}
    answer = victim(port=mirrored.dovecot.imap, user=mirrored.user, kill_at=kill_at, spools=spools, **files)
    assert answer["signal"] in (0, signal.SIGKILL), answer
    there = Mirrored(mirrored.dovecot, mirrored.user, Mirror(home / "mine.db"), {})
    handles = Handles(Database(home / "state.db"))
    await there.sync(Tools(handles))
    same(there, server, [f"killed at {kill_at}"])
    keeps_the_bytes(there, server, [f"killed at {kill_at}"])
    handles_lead_there(handles, shown, server, alone, [f"killed at {kill_at}"])
    return bool(answer["signal"])
