"""One of two processes that race in one gateway. Reads moves from stdin, makes each at the given instant, answers.

A move is a JSON line ``[name, argument, instant]``; the instant is on the clock that all processes of a machine share,
and waiting for it is a spin, so that both set off within microseconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig

from postroom.model.errors import PostroomError
from postroom.service.sending import outbox, worker
from postroom.service.sending import send as sending
from postroom.service.sending.approval import approvals
from postroom.service.writing import draft as drafts

Move = Callable[[GateRig, str], Awaitable[str]]


async def ask(gate: GateRig, subject: str) -> str:
    view = await gate.send(replace(MAIL, subject=subject), require_approval=True)
    assert view.approval is not None
    return view.approval.approval_id


async def send_with_key(gate: GateRig, key: str) -> str:
    return (await gate.send(replace(MAIL, subject=key), idempotency_key=key)).status


async def send(gate: GateRig, subject: str) -> str:
    return (await gate.send(replace(MAIL, subject=subject))).status


async def hold(gate: GateRig, subject: str) -> str:
    """A mail that leaves in half a minute, and half a minute that passes."""
    return (await gate.send(replace(MAIL, subject=subject))).send_id


async def work(gate: GateRig, _: str) -> str:
    return str(await worker.work_once(gate.gateway))


async def cancel(gate: GateRig, send_id: str) -> str:
    return (await outbox.cancel_send(gate.gateway, send_id)).status


async def approve(gate: GateRig, approval_id: str) -> str:
    return (await approvals.approve(gate.gateway, approval_id, who="ada", how="test")).status


async def reject(gate: GateRig, approval_id: str) -> str:
    return (await approvals.reject(gate.gateway, approval_id, who="ada", how="test")).status


async def let_pass(gate: GateRig, seconds: str) -> str:
    gate.time.pass_(float(seconds))
    return ""


async def preview(gate: GateRig, subject: str) -> str:
    return (await gate.send(replace(MAIL, subject=subject), confirm=False)).status


async def save_draft(gate: GateRig, subject: str) -> str:
    return (await drafts.create_draft(gate.gateway, replace(MAIL, subject=subject))).draft_id


async def send_draft(gate: GateRig, draft_and_key: str) -> str:
    draft_id, key = draft_and_key.split()
    order = await sending.order_draft(gate.gateway, draft_id, replace(CONFIRMED, idempotency_key=key))
    return (await sending.send(gate.gateway, order)).status


_MOVES = (ask, send_with_key, send, hold, work, cancel, approve, reject, let_pass, preview, save_draft, send_draft)
MOVES: dict[str, Move] = {move.__name__: move for move in _MOVES}


async def main(home: Path, safety: dict[str, int]) -> None:
    async with gate_rig(home, sends_per_hour=1_000_000, **safety) as gate:
        for line in sys.stdin:
            name, argument, instant = json.loads(line)
            while time.monotonic() < instant:
                pass
            try:
                answer = await MOVES[name](gate, argument)
            except PostroomError as error:
                answer = error.code
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), json.loads(sys.argv[2]))
