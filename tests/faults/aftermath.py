"""What must be true of a gateway in which a process was killed, and how a fresh process gets it there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.faults.scenarios import Scenario, cannot_tell, gateway_of
from tests.gate.rigs import START, GateRig, SetClock
from tests.gate.transports import staging

from postroom.service.reading import search
from postroom.service.sending import outbox, worker
from postroom.store import Send, State
from postroom.store.sends.states import FINISHED, UNSENT

LATER = 100.0  # the victim is found a little later
_RESTING = FINISHED | {State.NEEDS_HUMAN, State.AWAITING_APPROVAL}
_PROMISES = {"sent", "already_executed", "held", "scheduled"}


def later() -> SetClock:
    return SetClock(START + LATER, 1000.0 + LATER)


async def check(scenario: Scenario, home: Path, answers: list[str]) -> State | None:
    """Recover and judge; then let client and person repeat all they did, and judge again. Answers how it ended."""
    async with gateway_of(scenario, home, time=later()) as gate:
        was_delivered, submissions = await _is_delivered(gate, scenario), _submissions(gate, scenario)
        await settle(gate, scenario)
        if was_delivered or (scenario.is_blind and submissions):
            assert _submissions(gate, scenario) == submissions, "handed over again"
        await judge(gate, scenario, promised=is_promise(answers))
        ended = _latest(gate, scenario)
        await repeat(gate, scenario)
        return ended


async def repeat(gate: GateRig, scenario: Scenario) -> None:
    """Client and person do all they did once more; then it has arrived, once."""
    await scenario.act(gate, lambda _: None)
    await settle(gate, scenario)
    await judge(gate, scenario, promised=True)


def is_promise(answers: Iterable[str]) -> bool:
    return not _PROMISES.isdisjoint(answers)


async def settle(gate: GateRig, scenario: Scenario) -> None:
    """What a running server does by itself, with time passing, until nothing moves any more."""
    if scenario.is_blind:
        (await gate.meddle(scenario.sender)).reconciled = cannot_tell
    if scenario.is_staged:
        await staging(gate, scenario.sender)
    for _ in range(10):
        gate.time.pass_(4000)
        await worker.work_once(gate.gateway)
        if gate.gateway.store.outbox.list(states=set(State) - _RESTING).total == 0:
            return


async def judge(gate: GateRig, scenario: Scenario, *, promised: bool) -> None:
    """Nothing twice, nothing lost, nothing undecided that is not shown, and an audit that holds."""
    states = Counter(send.state for send in _sends(gate, scenario))
    assert set(states) <= _RESTING, states
    shown = Counter(row.state for row in (await outbox.list_outbox(gate.gateway, limit=100)).results)
    assert shown[State.NEEDS_HUMAN] == states[State.NEEDS_HUMAN]
    copies = [await _copies(gate, name, "INBOX", scenario.subject) for name in scenario.receivers]
    filed = await _copies(gate, scenario.sender, "Sent", scenario.subject)
    assert max(copies) <= 1, "sent twice"
    assert filed <= 1, "filed twice"
    if states[State.DONE]:
        assert states[State.DONE] == 1
        assert (min(copies), filed) == (1, 1), "done, and yet not everywhere"
        assert await _copies(gate, scenario.sender, "Drafts", scenario.subject) == 0, "sent, and still a draft"
    if any(copies):
        assert states[State.DONE] + states[State.NEEDS_HUMAN] == 1, "somebody has it and the outbox denies it"
    if promised:
        assert states[State.DONE] + states[State.NEEDS_HUMAN] == 1, "a promise was forgotten"
    assert gate.gateway.store.audit.verify().ok
    _check_mirror(gate.gateway.vault.root / "Logs" / "actions")


def _sends(gate: GateRig, scenario: Scenario) -> list[Send]:
    """Newest first, without what only furnished the house."""
    sends = gate.gateway.store.outbox.list(limit=100).items
    return [send for send in sends if (send.tool == "reply_email") == scenario.subject.startswith("Re:")]


def _submissions(gate: GateRig, scenario: Scenario) -> int:
    store = gate.gateway.store
    states = [event.state for send in _sends(gate, scenario) for event in store.outbox.events(send.send_id)]
    return states.count(State.SENDING)


async def _is_delivered(gate: GateRig, scenario: Scenario) -> bool:
    copies = [await _copies(gate, name, "INBOX", scenario.subject) for name in scenario.receivers]
    return bool(min(copies) and await _copies(gate, scenario.sender, "Sent", scenario.subject))


async def _copies(gate: GateRig, account: str, mailbox: str, subject: str) -> int:
    page = await search.list_emails(gate.gateway, account=account, mailbox=mailbox, limit=100)
    return sum(row.subject == subject for row in page.results)


def _latest(gate: GateRig, scenario: Scenario) -> State | None:
    return next((send.state for send in _sends(gate, scenario) if send.state not in UNSENT), None)


def _check_mirror(folder: Path) -> None:
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            assert json.loads(line)["hash"]
