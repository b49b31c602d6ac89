"""A process that asks a list's server to unsubscribe, and is killed `before` the request, when it `has arrived`, or
once it is `answered`. What arrives is noted in the file `posted`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
from tests.gate.newsletters import TAKEN, leave, newsletter, somewhere
from tests.gate.rigs import gate_rig

from postroom.model.outcome import SubmitOutcome
from postroom.providers import oneclick
from postroom.service.sending import dispatch


def die(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(home: Path, moment: str) -> None:
    async def post(*_: Any) -> SubmitOutcome:
        if moment != "before":
            (home / "posted").write_text("1")
        return TAKEN if moment == "answered" else die()

    oneclick._public_address, oneclick._post = somewhere, post  # type: ignore[assignment]
    if moment == "answered":
        dispatch.settle = die
    async with gate_rig(home) as gate:
        email_id = await newsletter(gate)
        await leave(gate, email_id, confirm=False)
        await leave(gate, email_id, idempotency_key="k")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
