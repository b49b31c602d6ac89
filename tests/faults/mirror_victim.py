"""A process whose children synchronize a mirror and are killed on the way: one child for each order it reads.

An order is a JSON line ``{"port", "user", "mirror", "state", "kill_at", "spools"}``; the answer tells how the child
ended and how many places to die it passed (see `kill_points`).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
from tests.faults import kill_points
from tests.peers.accounts import opened
from tests.peers.daemon import LOOPBACK
from tests.peers.dovecot import PASSWORD
from tests.unit.sync.filling import spool_everything

from postroom.settings import ImapAccount
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing, Tools


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(_carry_out(json.loads(line))), flush=True)


def _carry_out(order: dict[str, Any]) -> dict[str, Any]:
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        _live(order, mouth)
    os.close(mouth)
    with os.fdopen(ear) as told:
        passed = told.read()
    _, status = os.waitpid(child, 0)
    return {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "points": int(passed or 0)}


def _live(order: dict[str, Any], mouth: int) -> None:
    status = 1
    try:
        if order["spools"]:
            spool_everything(setattr)
        countdown = kill_points.Countdown(order["kill_at"])
        kill_points.install(countdown)
        anyio.run(_sync, order)
        os.write(mouth, str(countdown.passed).encode())
        status = 0
    finally:
        os._exit(status)


async def _sync(order: dict[str, Any]) -> None:
    account = ImapAccount(
        name="mine", address=order["user"], host=LOOPBACK, port=order["port"], security="none", password=PASSWORD,
        mirror="full",
    )  # fmt: skip
    handles = Handles(Database(Path(order["state"])))
    mirror = Mirror(Path(order["mirror"]))
    async with opened(account) as mailbox, Syncing(mirror, mailbox, account, Tools(handles)) as syncing:
        await syncing.once()


if __name__ == "__main__":
    main()
