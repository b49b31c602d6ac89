"""Two of the same in one moment: the second waits until it is known what became of the first."""

from __future__ import annotations

import anyio
import pytest
from tests.gate.rigs import GateRig, gate_rig

from postroom.model.errors import Conflict
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.service.sending import dispatch
from postroom.service.sending.approval import approvals
from postroom.service.views import SendView
from postroom.store import Send


async def others_get_their_turn(gate: GateRig) -> None:
    """Whoever else can go on has gone on: the store answers in the order in which it is asked."""
    for _ in range(50):
        await gate.gateway.in_thread(lambda: None)


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


async def test_whoever_takes_up_a_send_that_is_leaving_waits_until_it_has_left(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled, ends = await gate.meddle(), []
        real = meddled.real.submit

        async def slowly(request: SubmitRequest) -> SubmitOutcome:
            tasks.start_soon(second, request.attempt_id)
            await others_get_their_turn(gate)
            ends.append("handed over")
            return await real(request)

        async def second(send_id: str) -> None:
            send: Send = gate.gateway.store.outbox.get(send_id)
            with pytest.raises(Conflict):
                await dispatch.go_on(gate.gateway, send)
            ends.append("too late")

        meddled.real.submit = slowly  # type: ignore[method-assign]
        async with anyio.create_task_group() as tasks:
            assert (await gate.send()).status == "sent"
        assert ends == ["handed over", "too late"]
        assert await gate.inbox() == ["Lunch?"]
