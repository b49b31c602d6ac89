"""The gate on JMAP: whatever is lost on the way, and wherever the process dies, the mail leaves once or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.faults.aftermath import later
from tests.faults.jmap_sender import LETTER, jmap_rig
from tests.gate.rigs import GateRig
from tests.peers.jmap import FakeJmap

from postroom.model.errors import PostroomError
from postroom.service.sending import worker
from postroom.store import State
from postroom.store.sends.states import FINISHED

ROOT = Path(__file__).parents[2]
RESTING = FINISHED | {State.NEEDS_HUMAN}
EVERYONE = ("bob@demo.example", "carol@demo.example")
STEPS = ["/upload/*", "Email/import", "Identity/get", "EmailSubmission/get", "EmailSubmission/set"]
WAYS: dict[str, Callable[[FakeJmap, str], None]] = {
    "cut before": lambda server, step: server.cut_next("POST", step),
    "cut after": lambda server, step: server.cut_next("POST", step, after_effect=True),
    "503 after": lambda server, step: server.fail_next("POST", step, after_effect=True),
    "half": lambda server, step: server.truncate_next("POST", step),
    "401": lambda server, step: server.fail_next("POST", step, status=401, times=2),
    "page": lambda server, step: server.html_next("POST", step, status=200, after_effect=True),
}


@pytest.fixture
def server() -> Iterator[FakeJmap]:
    with FakeJmap().run() as peer:
        yield peer


async def settle(gate: GateRig) -> None:
    """What a running server does by itself, with time passing, until nothing moves any more."""
    for _ in range(10):
        gate.time.pass_(4000)
        await worker.work_once(gate.gateway)
        if gate.gateway.store.outbox.list(states=set(State) - RESTING).total == 0:
            return


def judge(server: FakeJmap, gate: GateRig) -> State | None:
    """Sent at most once, to those who were approved; the outbox neither claims nor denies what is not so."""
    sent = server.state.sent
    states = [send.state for send in gate.gateway.store.outbox.list(limit=10).items]
    assert len(sent) <= 1, "sent twice"
    assert all(set(one.recipients) == set(EVERYONE) for one in sent)
    assert all(b"carol" not in one.raw for one in sent)
    assert set(states) <= RESTING, states
    if sent:
        assert set(states) & {State.DONE, State.NEEDS_HUMAN}, "somebody has it and the outbox denies it"
    if State.DONE in states:
        assert len(sent) == 1, "done, and yet not sent"
        drafts = [email for email in server.state.emails.values() if "mb-drafts" in email["mailboxIds"]]
        assert drafts == [], "sent, and still a draft"
    assert gate.gateway.store.audit.verify().ok
    return states[0] if states else None


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("way", WAYS)
async def test_whatever_is_lost_on_the_way_it_leaves_once_or_not_at_all(
    server: FakeJmap, tmp_path: Path, step: str, way: str
) -> None:
    async with jmap_rig(tmp_path, server.url) as gate:
        WAYS[way](server, step)
        with suppress(PostroomError):
            await gate.send(LETTER, idempotency_key="order-1")
        server.forget_faults()
        await settle(gate)
        judge(server, gate)
        with suppress(PostroomError):
            await gate.send(LETTER, idempotency_key="order-1")
        await settle(gate)
        ended = judge(server, gate)
        assert ended in (State.DONE, State.NEEDS_HUMAN), "neither sent nor shown to a person"
        if way == "cut after" or step != "EmailSubmission/set":
            assert ended is State.DONE


@pytest.mark.parametrize(
    ("step", "after_effect"),
    [("Email/import", True), ("EmailSubmission/set", False), ("EmailSubmission/set", True)],
)
async def test_killed_while_the_server_works_on_it_it_leaves_once_or_is_shown_to_a_person(
    server: FakeJmap, tmp_path: Path, step: str, after_effect: bool
) -> None:
    """Takes two seconds: a process of its own is started to be killed."""
    hold = server.hold_next("POST", step, after_effect=after_effect)
    victim = subprocess.Popen([sys.executable, "-m", "tests.faults.jmap_sender", str(tmp_path), server.url], cwd=ROOT)
    try:
        assert hold.reached.wait(60)
    finally:
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait(20)
        hold.release()
    async with jmap_rig(tmp_path, server.url, later()) as gate:
        await settle(gate)
        ended = judge(server, gate)
        assert ended is not None
        with suppress(PostroomError):
            await gate.send(LETTER, idempotency_key="order-1")
        await settle(gate)
        judge(server, gate)
