"""kill -9 wherever a send changes anything: nothing accepted is lost, nothing is sent twice, no doubt is hidden."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from tests.faults.aftermath import check
from tests.faults.scenarios import ALL_SCENARIOS, SCENARIOS, WEB_SCENARIOS
from tests.gate.services import SERVICES

ROOT = Path(__file__).parents[2]


class Victims:
    """The process that forks the victims, and a fresh furnished gateway for each."""

    def __init__(self, homes: Path) -> None:
        self._homes = homes
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.victim"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def order(self, **order: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def furnished(self, scenario: str) -> Path:
        template = self._homes / scenario.replace(" ", "-")
        if not template.exists():
            template.mkdir()
            told = self.order(scenario=scenario, home=str(template), kill_at=-1)
            assert told["exit"] == 0
        return template

    @contextmanager
    def gateway(self, scenario: str) -> Iterator[Path]:
        home = self._homes / "house"
        shutil.copytree(self.furnished(scenario), home)
        try:
            yield home
        finally:
            shutil.rmtree(home)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


@pytest.fixture(scope="module")
def victims(memory: Path) -> Iterator[Victims]:
    victims = Victims(Path(mkdtemp(dir=memory)))
    yield victims
    victims.close()


def points_to_try(scenario: str, last: int) -> list[int]:
    """All of two scenarios, which between them take every step of the gate; of the others every second one and the
    last three. Neighbours in the table take turns, so that a place that they share is tried in one of them."""
    if os.environ.get("EVERY_POINT") or scenario in ("send with a key", "approval by file"):
        return list(range(1, last + 1))
    turn = list(SCENARIOS).index(scenario) % 2
    return [point for point in range(1, last + 1) if point % 2 == turn or point > last - 3]


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_send_survives_death_at_every_change(victims: Victims, scenario: str, record_fault) -> None:
    with victims.gateway(scenario) as home:
        undisturbed = victims.order(scenario=scenario, home=str(home), kill_at=0)
        assert undisturbed["exit"] == 0
        await check(SCENARIOS[scenario], home, undisturbed["answers"])
    endings: Counter[str] = Counter()
    for point in points_to_try(scenario, undisturbed["points"]):
        with victims.gateway(scenario) as home:
            told = victims.order(scenario=scenario, home=str(home), kill_at=point)
            assert told["signal"] == signal.SIGKILL
            endings[await judged(scenario, home, told, f"killed at point {point}")] += 1
    record_fault(f"kill -9, {scenario}", sum(endings.values()), endings)
    assert endings["done"]


@pytest.mark.parametrize("scenario", WEB_SCENARIOS)
async def test_a_send_by_a_web_service_survives_death_around_staging_and_sending(
    victims: Victims, memory_home: Callable[[], Path], scenario: str, record_fault
) -> None:
    """Before and after every request that changes something there, and after every commit."""
    endings: Counter[str] = Counter()
    point = 0
    with SERVICES[WEB_SCENARIOS[scenario].service].started() as service:
        while True:
            point += 1
            home = memory_home()
            service.furnish(home)
            assert victims.order(scenario=scenario, home=str(home), kill_at=-1)["exit"] == 0
            told = victims.order(scenario=scenario, home=str(home), kill_at=point)
            endings[await judged(scenario, home, told, f"killed at point {point}")] += 1
            assert service.sent == 1, f"sent {service.sent} times, killed at point {point}"
            if told["signal"] != signal.SIGKILL:
                break
    record_fault(f"kill -9, {scenario}", point - 1, endings)
    assert endings["done"]
    assert point > 8


async def test_a_second_death_while_clearing_up_after_the_first_changes_nothing(victims: Victims, record_fault) -> None:
    scenario, endings = "lost answer", Counter[str]()
    with victims.gateway(scenario) as home:
        last = victims.order(scenario=scenario, home=str(home), kill_at=0)["points"]
    for first in range(last // 4, last, 13):
        for second in range(1, 25):
            with victims.gateway(scenario) as home:
                told = victims.order(scenario=scenario, home=str(home), kill_at=first)
                after = victims.order(scenario=scenario, home=str(home), kill_at=second, recover=True)
                if after["signal"] != signal.SIGKILL:
                    break
                endings[await judged(scenario, home, told, f"killed at {first}, then at {second}")] += 1
    record_fault("kill -9 twice", sum(endings.values()), endings)
    assert endings["done"]


async def test_a_send_survives_death_in_the_middle_of_a_write(victims: Victims, record_fault) -> None:
    """The kernel ends the process when a file grows past a limit: pages and lines are left half written."""
    scenario, endings = "send to several", Counter[str]()
    for limit in range(1_000, 400_000, 2_777 if os.environ.get("EVERY_POINT") else 5_557):
        with victims.gateway(scenario) as home:
            told = victims.order(scenario=scenario, home=str(home), kill_at=0, file_limit=limit)
            if told["signal"] != signal.SIGXFSZ:
                break
            endings[await judged(scenario, home, told, f"cut off at {limit} bytes")] += 1
    record_fault("death in the middle of a write", sum(endings.values()), endings)
    assert endings["done"]


async def judged(scenario: str, home: Path, told: dict[str, Any], what: str) -> str:
    try:
        return str(await check(ALL_SCENARIOS[scenario], home, told["answers"]))
    except Exception as error:
        error.add_note(f"{scenario}: {what}, {told}")
        raise
