"""A process that lives to be killed: it imports everything once, then forks a child for each order it reads.

An order is a JSON line ``{"scenario", "home", "kill_at", "file_limit", "recover"}``; the answer tells how the child
ended, what it had answered its callers by then, and how many places to die it passed. With `kill_at` -1 it only
furnishes the house; with `recover` it clears up after an earlier victim instead of acting.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from tests.faults import kill_points
from tests.faults.aftermath import later, settle
from tests.faults.scenarios import ALL_SCENARIOS, SCENARIOS, Scenario, gateway_of


def main() -> None:
    with TemporaryDirectory() as home:
        for name in ("send with a key", "approval by file"):
            anyio.run(_rehearse, SCENARIOS[name], Path(home) / name)
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(_carry_out(order)), flush=True)


def _carry_out(order: dict[str, Any]) -> dict[str, Any]:
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        _live(order, mouth)
    os.close(mouth)
    with os.fdopen(ear) as told:
        answers = told.read().split("\n")[:-1]
    _, status = os.waitpid(child, 0)
    points = [int(answer.removeprefix("points ")) for answer in answers if answer.startswith("points ")]
    return {
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "answers": [answer for answer in answers if not answer.startswith("points ")],
        "points": points[0] if points else None,
    }


def _live(order: dict[str, Any], mouth: int) -> None:
    status = 1
    try:
        scenario, home = ALL_SCENARIOS[order["scenario"]], Path(order["home"])
        if order["kill_at"] < 0:
            anyio.run(_furnish, scenario, home)
        else:
            anyio.run(_act, scenario, home, order, mouth)
        status = 0
    finally:
        os._exit(status)


async def _rehearse(scenario: Scenario, home: Path) -> None:
    """Once without harm, so that everything is imported that is imported late."""
    home.mkdir()
    await _furnish(scenario, home)
    async with gateway_of(scenario, home) as gate:
        await scenario.act(gate, lambda _: None)


async def _furnish(scenario: Scenario, home: Path) -> None:
    async with gateway_of(scenario, home) as gate:
        for name in ("alice", "bob", "carol"):
            await gate.gateway.accounts.open(name)
        if scenario.prepare is not None:
            await scenario.prepare(gate)


async def _act(scenario: Scenario, home: Path, order: dict[str, Any], mouth: int) -> None:
    countdown = kill_points.Countdown(order["kill_at"])
    kill_points.install(countdown, around_requests=bool(scenario.service))
    if order.get("file_limit"):
        _die_beyond(order["file_limit"])
    async with gateway_of(scenario, home, time=later() if order.get("recover") else None) as gate:
        if order.get("recover"):
            await settle(gate, scenario)
        else:
            await scenario.act(gate, lambda answer: _tell(mouth, answer))
        _tell(mouth, f"points {countdown.passed}")


def _die_beyond(limit: int) -> None:
    """The kernel ends the process in the middle of the write that makes a file longer than this."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def _tell(mouth: int, answer: str) -> None:
    os.write(mouth, f"{answer}\n".encode())


if __name__ == "__main__":
    main()
