"""A process that runs a plan and, if told to, dies without warning at the given change to the mailbox."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from tests.gate.rigs import gate_rig

from postroom.model.errors import PostroomError
from postroom.service.rules.running import run_rule


def dying(verb: Any, at: int, is_done: bool) -> Any:
    """The verb, whose call number `at` ends the process: before anything happened, or after all of it."""
    calls = 0

    async def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at and not is_done:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await verb(*args, **kwargs)
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return call


async def main(home: Path, plan_id: str, verb: str, at: int, is_done: bool) -> None:
    async with gate_rig(home) as gate:
        opened = await gate.gateway.accounts.open("alice")
        opened.capabilities = replace(opened.capabilities, changes_at_once=1)
        if verb == "submit":
            transport: Any = opened.transport
            transport.submit = dying(transport.submit, at, is_done)
        elif verb:
            mailbox: Any = opened.mailbox
            setattr(mailbox, verb, dying(getattr(mailbox, verb), at, is_done))
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            view = await run_rule(gate.gateway, plan_id)
            print(json.dumps([view.status, view.succeeded]))
        except PostroomError as error:
            print(json.dumps([error.code, 0]))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "after")
