"""Two processes in one gateway, let go at the same instant, a thousand times: whatever they race for happens once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.gate.mailboxes import everything_in
from tests.gate.rigs import gate_rig

from postroom.store import State

ROOT = Path(__file__).parents[2]
HEAD_START = 0.002  # seconds in which both have read their move and stand ready


class Racer:
    def __init__(self, home: Path, safety: dict[str, Any]) -> None:
        command = [sys.executable, "-m", "tests.faults.racer", str(home), json.dumps(safety)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, move: str, argument: str = "", instant: float = 0.0) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([move, argument, instant]) + "\n")
        self._process.stdin.flush()

    def heard(self) -> str:
        assert self._process.stdout is not None
        answer: str = json.loads(self._process.stdout.readline())
        return answer

    def does(self, move: str, argument: str = "") -> str:
        self.tell(move, argument)
        return self.heard()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(timeout=30) == 0


class Race:
    def __init__(self, home: Path, **safety: Any) -> None:
        self.home = home
        self.one, self.two = Racer(home, safety), Racer(home, safety)

    def go(self, first: tuple[str, str], second: tuple[str, str], *, second_later: float = 0.0) -> list[str]:
        instant = time.monotonic() + HEAD_START
        self.one.tell(*first, instant)
        self.two.tell(*second, instant + second_later)
        return [self.one.heard(), self.two.heard()]

    def end(self) -> None:
        """Whatever is left over has its time; then both go home."""
        for racer in (self.one, self.two):
            for _ in range(3):
                racer.does("let_pass", "4000")
                racer.does("work")
            racer.close()


async def check_arrived(race: Race, expected: set[str]) -> None:
    """Each of them once with bob and once in Sent, nothing else anywhere, and nothing left undecided."""
    race.end()
    async with gate_rig(race.home) as gate:
        for account, mailbox in (("bob", "INBOX"), ("alice", "Sent")):
            assert await everything_in(gate, account, mailbox) == Counter(expected)
        ended = {State.DONE, State.CANCELLED}
        assert gate.gateway.store.outbox.list(states=set(State) - ended).total == 0
        assert gate.gateway.store.outbox.list(states=[State.DONE]).total == len(expected)
        assert gate.gateway.store.audit.verify().ok


@pytest.mark.slow
async def test_one_approval_file_and_two_running_servers_give_one_send(memory_home, record_fault):
    rounds = 300
    race = Race(memory_home(), gate="approval")
    vault = race.home / "vault"
    for number in range(rounds):
        race.one.does("ask", f"mail {number}")
        (path,) = (vault / "Pending_Approval").iterdir()
        path.write_text(path.read_text().replace("status: pending", "status: approved"))
        path.rename(vault / "Approved" / path.name)
        race.go(("work", ""), ("work", ""))
    await check_arrived(race, {f"mail {number}" for number in range(rounds)})
    assert len(list((vault / "Done").iterdir())) == rounds
    record_fault("race for one approval file", rounds)


@pytest.mark.slow
async def test_one_hand_written_approval_and_two_processes_give_one_send(memory_home, record_fault):
    rounds = 100
    race = Race(memory_home(), gate="approval", dialect="vault")
    vault = race.home / "vault"
    assert race.one.does("send", "nothing approves it") == "PERMISSION_DENIED"
    (vault / "Approved").mkdir(mode=0o700, parents=True, exist_ok=True)
    (vault / "Done").mkdir(mode=0o700, exist_ok=True)
    for number in range(rounds):
        path = vault / "Approved" / f"{number}.md"
        path.write_text("---\ntype: email_send\nstatus: approved\nto: bob@demo.example\n---\n")
        path.chmod(0o600)
        answers = race.go(("send", f"mail {number}"), ("send", f"mail {number}"))
        assert "sent" in answers
    await check_arrived(race, {f"mail {number}" for number in range(rounds)})
    assert len(list((vault / "Done").iterdir())) == rounds
    record_fault("race for one hand-written approval", rounds)


@pytest.mark.slow
async def test_one_key_in_two_processes_gives_one_send(memory_home, record_fault):
    rounds, answers = 500, Counter[str]()
    race = Race(memory_home())
    for number in range(rounds):
        got = race.go(("send_with_key", f"key {number}"), ("send_with_key", f"key {number}"))
        assert got.count("sent") == 1
        answers.update(got)
    await check_arrived(race, {f"key {number}" for number in range(rounds)})
    assert set(answers) <= {"sent", "already_executed", "CONFLICT", "held"}
    record_fault("race for one idempotency key", rounds, answers)


@pytest.mark.slow
async def test_one_draft_and_two_processes_under_two_keys_give_one_send(memory_home, record_fault):
    rounds, answers = 100, Counter[str]()
    race = Race(memory_home())
    for number in range(rounds):
        draft_id = race.one.does("save_draft", f"draft {number}")
        got = race.go(("send_draft", f"{draft_id} first-{number}"), ("send_draft", f"{draft_id} second-{number}"))
        assert got.count("sent") == 1
        answers.update(got)
    await check_arrived(race, {f"draft {number}" for number in range(rounds)})
    record_fault("race for one draft", rounds, answers)


@pytest.mark.slow
async def test_one_preview_confirmed_by_two_processes_gives_one_send_and_no_new_preview(memory_home, record_fault):
    rounds, answers = 100, Counter[str]()
    race = Race(memory_home(), gate="preview")
    for number in range(rounds):
        subject = f"mail {number}"
        race.one.does("preview", subject)
        answers.update(race.go(("send", subject), ("send", subject), second_later=number % 10 / 1000))
        assert race.one.does("send", subject) == "preview"
    await check_arrived(race, {f"mail {number}" for number in range(rounds)})
    record_fault("race for one preview", rounds, answers)


async def test_a_mail_is_either_cancelled_or_sent_and_both_sides_know_which(memory_home, record_fault):
    rounds, sent, cancelled = 100, set[str](), 0
    race = Race(memory_home(), hold_seconds=30)
    for number in range(rounds):
        send_id = race.two.does("hold", f"held {number}")
        race.one.does("let_pass", "60")
        race.two.does("let_pass", "60")
        _, answer = race.go(("work", ""), ("cancel", send_id), second_later=number % 20 / 1000)
        assert answer in ("cancelled", "CONFLICT")
        if answer == "CONFLICT":
            sent.add(f"held {number}")
        cancelled += answer == "cancelled"
    await check_arrived(race, sent)
    record_fault("race of cancel and send", rounds, {"cancelled": cancelled, "sent": len(sent)})


async def test_of_a_yes_and_a_no_at_the_same_instant_one_counts(memory_home, record_fault):
    rounds, sent = 100, set[str]()
    race = Race(memory_home(), gate="approval")
    for number in range(rounds):
        approval_id = race.one.does("ask", f"asked {number}")
        no, yes = race.go(("reject", approval_id), ("approve", approval_id), second_later=(number % 5 - 3) / 4000)
        assert (yes, no) in (("sent", "CONFLICT"), ("CONFLICT", "rejected"))
        if yes == "sent":
            sent.add(f"asked {number}")
    await check_arrived(race, sent)
    record_fault("race of approve and reject", rounds, {"sent": len(sent), "rejected": rounds - len(sent)})
