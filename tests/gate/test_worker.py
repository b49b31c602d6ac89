"""The loop that works by itself: every second, whatever one round runs into; old things are forgotten once a day."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import gate_rig

from postroom.model.errors import InternalError
from postroom.service.sending import worker
from postroom.store import Store


class Enough(BaseException):
    pass


async def test_it_works_every_second_and_forgets_at_the_start_and_once_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    rounds: list[int] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        gate.time.pass_(43_200)
        if len(pauses) == 4:
            raise Enough

    monkeypatch.setattr(Store, "prune", lambda _store: rounds.append(len(pauses)))
    async with gate_rig(tmp_path) as gate:
        gate.time.boottime = 0.0
        with monkeypatch.context() as patched:
            patched.setattr(worker.anyio, "sleep", sleep)
            with pytest.raises(Enough):
                await worker.run(gate.gateway)
    assert (pauses, rounds) == ([1.0] * 4, [0, 2])


async def test_no_round_stops_the_next_and_its_trouble_is_logged_without_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    troubles: list[BaseException] = [InternalError("The state file is locked."), ValueError("a secret"), Enough()]

    async def trouble(_gateway: Any) -> int:
        raise troubles.pop(0)

    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(worker, "work_once", trouble)
    async with gate_rig(tmp_path) as gate:
        with pytest.raises(Enough):
            await worker.run(gate.gateway, pause=0)
    ours = [record for record in caplog.records if record.name == "postroom.worker"]
    assert [(one.levelname, one.getMessage()) for one in ours] == [
        ("WARNING", "worker_paused"),
        ("ERROR", "worker_paused"),
    ]
    assert (vars(ours[0])["code"], vars(ours[1])["error_type"]) == ("INTERNAL_ERROR", "ValueError")
    assert "secret" not in caplog.text
