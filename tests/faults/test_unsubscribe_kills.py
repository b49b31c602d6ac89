"""kill -9 around the request to a list's server: nobody can be asked what became of it, so a person decides."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gate.newsletters import ListServer, email_id_of_news, leave, lists
from tests.gate.rigs import START, SetClock, gate_rig

from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals

__all__ = ["lists"]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("moment", ["before", "has arrived", "answered"])
async def test_a_request_is_not_repeated_after_a_death_unless_a_person_says_so(
    tmp_path: Path, lists: ListServer, moment: str
) -> None:
    killed = subprocess.run(
        [sys.executable, "-m", "tests.faults.unsubscriber", tmp_path, moment], cwd=ROOT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "posted").exists() == (moment != "before")

    async with gate_rig(tmp_path, time=SetClock(START + 4000, 5000.0)) as gate:
        for _ in range(3):
            await worker.work_once(gate.gateway)
            gate.time.pass_(4000)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        again = await leave(gate, await email_id_of_news(gate), idempotency_key="k")
        assert (row.state, again.status, lists.posted) == ("needs_human", "unknown", [])
        assert "it may have unsubscribed you" in row.reason
        assert gate.gateway.store.audit.verify().ok

        resent = await approvals.resolve(gate.gateway, row.send_id, "resend")
        assert (resent.status, len(lists.posted)) == ("sent", 1)
