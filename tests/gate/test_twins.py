"""Two of the same in one moment: the second waits until it is known what became of the first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig

from postroom.model.errors import Conflict, PostroomError, RateLimited
from postroom.model.outcome import SubmitOutcome
from postroom.safety.judge import Finding
from postroom.service.gateway import Gateway
from postroom.service.sending import send
from postroom.service.sending.approval import approvals, requests
from postroom.service.sending.order import Order
from postroom.service.views import SendView
from postroom.service.writing import draft as drafts
from postroom.store import Send
from postroom.store.sends.send_rows import NewSend


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


async def at_once(calls: list[Callable[[], Awaitable[SendView]]]) -> list[str]:
    """How each of the calls ended."""
    ended: list[str] = []

    async def run(call: Callable[[], Awaitable[SendView]]) -> None:
        try:
            ended.append((await call()).status)
        except PostroomError as error:
            ended.append(error.reason)

    async with anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(run, call)
    return sorted(ended)


async def sending_one_draft(gate: GateRig, wishes: list[dict[str, Any]]) -> list[Callable[[], Awaitable[SendView]]]:
    saved = await drafts.create_draft(gate.gateway, MAIL)

    def call(wanted: dict[str, Any]) -> Callable[[], Awaitable[SendView]]:
        async def send_draft() -> SendView:
            order = await send.order_draft(gate.gateway, saved.draft_id, replace(CONFIRMED, **wanted))
            return await send.send(gate.gateway, order)

        return send_draft

    return [call(wanted) for wanted in wishes]


@pytest.mark.parametrize(
    "wishes",
    [
        [{}, {}],
        [{"idempotency_key": "first"}, {"idempotency_key": "second"}],
        [{"save_to_sent": True}, {"save_to_sent": False}],
    ],
    ids=["repeated", "under two keys", "with other options"],
)
async def test_one_draft_sent_by_two_calls_in_one_moment_is_sent_once(tmp_path, wishes):
    async with gate_rig(tmp_path) as gate:
        calls = await sending_one_draft(gate, wishes)
        refused, sent = await at_once(calls)
        assert sent == "sent"
        assert refused in {"draft_on_its_way", "draft_gone"}  # the slower one comes while the other is sent, or after
        assert await gate.inbox() == ["Lunch?"]
        assert (await gate.send(replace(MAIL, subject="Another"))).status == "sent"


async def test_one_draft_is_scheduled_once_however_many_times_are_named_in_one_moment(tmp_path):
    async with gate_rig(tmp_path) as gate:
        wishes = [{"send_at": gate.gateway.now() + timedelta(hours=hours)} for hours in (1, 2)]
        assert await at_once(await sending_one_draft(gate, wishes)) == ["draft_on_its_way", "scheduled"]


async def test_a_person_is_asked_once_about_one_draft(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        wishes = [{"save_to_sent": True}, {"save_to_sent": False}]
        assert await at_once(await sending_one_draft(gate, wishes)) == ["draft_on_its_way", "needs_approval"]
        assert len(await approvals.list_waiting(gate.gateway)) == 1


async def test_a_draft_that_another_send_left_in_place_can_be_sent_again(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (call,) = await sending_one_draft(gate, [{}])
        meddled = await gate.meddle()
        meddled.before = lambda request: SubmitOutcome("accepted", request.envelope.recipients)  # the draft stays
        assert [(await call()).status, (await call()).status] == ["sent", "sent"]


async def test_a_full_hour_leaves_the_preview_for_later(tmp_path):
    async with gate_rig(tmp_path, gate="preview", sends_per_hour=1) as gate:
        other = replace(MAIL, subject="Another")
        for request in (MAIL, other):
            await gate.send(request, confirm=False)
        assert (await gate.send(other)).status == "sent"
        with pytest.raises(RateLimited):
            await gate.send()
        assert gate.gateway.store.previews.is_valid("alice", (await gate.order()).digest)


async def test_a_preview_that_another_process_uses_in_the_same_moment_is_not_made_anew_by_the_slower_one(
    tmp_path, monkeypatch
):
    async with gate_rig(tmp_path, gate="preview") as gate, gate_rig(tmp_path, gate="preview", time=gate.time) as other:
        await gate.send(confirm=False)
        orders = [await rig.order() for rig in (gate, other)]
        real = gate.gateway.store.outbox.prepare

        def slowly(new: NewSend) -> Send:  # the other is done by the time this one is prepared
            other.gateway.store.outbox.reserve(
                other.gateway.store.outbox.prepare(orders[1].as_send()).send_id, takes_preview=True
            )
            return real(new)

        monkeypatch.setattr(gate.gateway.store.outbox, "prepare", slowly)
        view = await send.send(gate.gateway, orders[0])
        assert (view.status, "has been sent before" in view.message) == ("preview", True)
        assert not gate.gateway.store.previews.is_valid("alice", orders[0].digest)


async def test_a_person_is_asked_once_by_two_processes_that_are_called_in_one_moment(tmp_path, monkeypatch):
    async with (
        gate_rig(tmp_path, gate="approval") as gate,
        gate_rig(tmp_path, gate="approval", time=gate.time) as other,
    ):
        real = requests.ask

        async def slowly(gateway: Gateway, order: Order, findings: Sequence[Finding]) -> SendView:
            monkeypatch.setattr(requests, "ask", real)
            assert (await other.send()).status == "needs_approval"
            return await real(gateway, order, findings)

        monkeypatch.setattr(requests, "ask", slowly)
        with pytest.raises(Conflict, match="already in progress"):
            await gate.send()
        assert len(await approvals.list_waiting(gate.gateway)) == 1
        assert (await gate.send()).status == "needs_approval"
