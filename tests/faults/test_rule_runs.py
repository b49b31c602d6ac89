"""Runs of rules that are killed, and two processes that run the same plan: all is done once, and undone whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gate.rigs import gate_rig
from tests.unit.service.rules.kit import fill, planned, rule, within

from postroom.service.organising import organise
from postroom.service.reading import search
from postroom.service.rules.running import run_rule

ROOT = Path(__file__).parents[2]
MAILS = ["one", "two", "three"]
RULE = rule("{type: apply_label, label: news}", "{type: forward, to: bob@demo.example}", "{type: archive}")


async def prepared(home: Path) -> str:
    async with gate_rig(home) as gate:
        await fill(gate, MAILS)
        return (await planned(gate, RULE)).plan_id


def runner(home: Path, plan_id: str, verb: str = "", at: int = 0, when: str = "before") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.faults.rule_runner", str(home), plan_id, verb, str(at), when]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ.copy(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize(
    ("verb", "at", "when"),
    [
        ("apply_label", 1, "before"),
        ("apply_label", 2, "after"),
        ("submit", 2, "before"),
        ("move", 1, "after"),
        ("move", 3, "after"),
    ],
)
async def test_a_killed_run_goes_on_where_it_was_and_can_be_undone_whole(
    tmp_path: Path, verb: str, at: int, when: str
) -> None:
    plan_id = await prepared(tmp_path)
    victim = runner(tmp_path, plan_id, verb, at, when)
    victim.communicate("go\n")
    assert victim.returncode == -signal.SIGKILL

    async with gate_rig(tmp_path) as gate:
        ran = await run_rule(gate.gateway, plan_id)

        assert ran.status == "done"
        forwarded = await gate.inbox("bob")
        assert len(forwarded) == len(set(forwarded)), "nothing is sent twice"
        if verb != "submit":  # of the send that was under way nobody knows yet; the worker finds out
            assert sorted(forwarded) == sorted(f"Fwd: {name}" for name in MAILS)
        assert await within(gate, "Archive") == set(MAILS)
        undone = await organise.undo(gate.gateway, ran.operation_id)
        assert undone.failed == 0
        assert await within(gate, "INBOX") == set(MAILS)
        assert await within(gate, "Archive") == set()
        again = await planned(gate, rule("{type: apply_label, label: news}"))
        assert again.matched == len(MAILS), "the label is gone from all of them"


async def test_a_run_that_goes_on_leaves_alone_what_somebody_threw_away_meanwhile(tmp_path: Path) -> None:
    plan_id = await prepared(tmp_path)
    victim = runner(tmp_path, plan_id, "move", 1, "before")
    victim.communicate("go\n")

    async with gate_rig(tmp_path) as gate:
        rows = (await search.list_emails(gate.gateway, account="alice")).results
        await organise.delete(gate.gateway, [row.email_id for row in rows if row.subject == "two"])

        ran = await run_rule(gate.gateway, plan_id)

        assert (ran.succeeded, ran.skipped) == (2, 1)
        assert await within(gate, "Trash") == {"two"}
        assert await within(gate, "Archive") == {"one", "three"}


async def test_a_killed_run_can_be_undone_without_finishing_it(tmp_path: Path) -> None:
    plan_id = await prepared(tmp_path)
    victim = runner(tmp_path, plan_id, "move", 2, "after")
    victim.communicate("go\n")

    async with gate_rig(tmp_path) as gate:
        assert await within(gate, "INBOX") != set(MAILS)
        operation = gate.gateway.store.plans.get(plan_id).operation_id
        assert (await organise.undo(gate.gateway, operation)).failed == 0
        assert await within(gate, "INBOX") == set(MAILS)


async def test_of_two_processes_that_run_a_plan_at_once_one_does_it(tmp_path: Path) -> None:
    plan_id = await prepared(tmp_path)
    pair = [runner(tmp_path, plan_id) for _ in range(2)]
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.communicate()[0]) for process in pair]

    statuses = sorted(status for status, _ in answers)
    assert statuses in (["CONFLICT", "done"], ["already_executed", "done"])
    async with gate_rig(tmp_path) as gate:
        assert sorted(await gate.inbox("bob")) == sorted(f"Fwd: {name}" for name in MAILS)
        assert await within(gate, "Archive") == set(MAILS)
