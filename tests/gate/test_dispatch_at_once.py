"""Two who take up one send in the same moment: one of them sends it, and both learn what became of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import from_thread
from tests.gate.rigs import GateRig, Meddled, gate_rig
from tests.gate.test_staging import drafts_of, losing, only
from tests.gate.transports import staging

from postroom.model.errors import Conflict
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.service.sending import dispatch, worker
from postroom.service.sending.approval import approvals
from postroom.store import Send


async def others_get_their_turn(gate: GateRig) -> None:
    """Whoever else can go on has gone on: the store answers in the order in which it is asked."""
    for _ in range(50):
        await gate.gateway.in_thread(lambda: None)


def submits_slowly(gate: GateRig, meddled: Meddled, began: Callable[[SubmitRequest], None]) -> None:
    real = meddled.real.submit

    async def slowly(request: SubmitRequest) -> SubmitOutcome:
        began(request)
        await others_get_their_turn(gate)
        return await real(request)

    meddled.real.submit = slowly  # type: ignore[method-assign]


async def test_whoever_approves_what_the_worker_takes_up_in_that_moment_hears_that_it_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked, meddled, submitting = await gate.send(), await gate.meddle(), anyio.Event()
        submits_slowly(gate, meddled, lambda _: submitting.set())
        decide = gate.gateway.store.approvals.approve

        def decide_while_the_worker_looks(*args: Any, **kwargs: Any) -> Any:
            approval = decide(*args, **kwargs)
            from_thread.run_sync(tasks.start_soon, worker.work_once, gate.gateway)
            from_thread.run(submitting.wait)
            return approval

        monkeypatch.setattr(gate.gateway.store.approvals, "approve", decide_while_the_worker_looks)
        assert asked.approval is not None
        async with anyio.create_task_group() as tasks:
            view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "sent"
        assert len(meddled.submitted) == 1
        assert await gate.inbox() == ["Lunch?"]


async def test_whoever_takes_up_a_send_that_is_leaving_waits_until_it_has_left(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        meddled, ends = await gate.meddle(), []
        submits_slowly(gate, meddled, lambda request: tasks.start_soon(second, request.attempt_id))
        meddled.after = lambda outcome: (ends.append("handed over"), outcome)[1]

        async def second(send_id: str) -> None:
            with pytest.raises(Conflict):
                await dispatch.go_on(gate.gateway, gate.gateway.store.outbox.get(send_id))
            ends.append("too late")

        async with anyio.create_task_group() as tasks:
            assert (await gate.send()).status == "sent"
        assert ends == ["handed over", "too late"]
        assert await gate.inbox() == ["Lunch?"]


async def test_two_who_take_up_what_was_to_be_staged_stage_it_once(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = losing("stage")
        await gate.send()
        stages.steps.clear()
        waiting, create, ends = only(gate), stages.mailbox.create_draft, []

        async def create_slowly(*args: Any, **kwargs: Any) -> Any:
            await others_get_their_turn(gate)
            return await create(*args, **kwargs)

        async def take_up(send: Send) -> None:
            try:
                ends.append((await dispatch.go_on(gate.gateway, send)).state.value)
            except Conflict:
                ends.append("too late")

        stages.mailbox.create_draft = create_slowly
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take_up, waiting)
            tasks.start_soon(take_up, waiting)
        assert ends == ["done", "too late"]
        assert [stages.steps.count(step) for step in ("stage", "submit")] == [1, 1]
        assert await drafts_of(gate) == []
        assert await gate.inbox() == ["Lunch?"]
