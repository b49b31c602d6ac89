"""Two of the same in one moment: the second waits until it is known what became of the first."""

from __future__ import annotations

import anyio
from tests.gate.rigs import gate_rig

from postroom.service.sending.approval import approvals
from postroom.service.views import SendView


async def test_five_identical_calls_in_one_moment_ask_a_person_once(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        views: list[SendView] = []

        async def call() -> None:
            views.append(await gate.send())

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(call)
        assert {view.status for view in views} == {"needs_approval"}
        assert len({view.send_id for view in views}) == 1
        assert len(await approvals.list_waiting(gate.gateway)) == 1
