"""One of several processes that send as fast as they can, and open and close the house again and again meanwhile."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import anyio
from tests.gate.rigs import MAIL, gate_rig

from postroom.model.errors import PostroomError

PER_VISIT = 50


async def main(home: Path, name: str, sends: int) -> None:
    answers: dict[str, str] = {}
    subjects = [f"{name} {number}" for number in range(sends)]
    while subjects:
        async with gate_rig(home, sends_per_hour=1_000_000) as gate:
            await gate.inbox()  # the recipient's file is then open twice: as an account, and as a neighbour
            for subject in subjects[:PER_VISIT]:
                answers[subject] = await sent(gate, subject)
        del subjects[:PER_VISIT]
    print(json.dumps(answers))


async def sent(gate, subject: str) -> str:
    try:
        return (await gate.send(replace(MAIL, subject=subject))).status
    except PostroomError as error:
        return error.code


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
