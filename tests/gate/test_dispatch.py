"""The way of one send through its states: at the very edge of its times, and when somebody else was faster."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.gate.rigs import GateRig, gate_rig
from tests.gate.test_originals import received, reply
from tests.gate.test_outcomes import answering
from tests.unit.store.kit import A_DAY

from postroom.model.errors import Conflict, PostroomError, ProviderUnavailable, RateLimited
from postroom.model.outcome import SubmitOutcome
from postroom.service.sending import dispatch, outbox, worker
from postroom.service.sending.approval import approvals
from postroom.store import State

AWAY = ProviderUnavailable("The server is away.")


def state(gate: GateRig, send_id: str) -> State:
    return gate.gateway.store.outbox.get(send_id).state


async def test_what_is_approved_in_the_second_it_was_scheduled_for_leaves_at_once(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send(send_at=gate.gateway.now() + timedelta(hours=1))
        gate.time.pass_(3600)
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert (view.status, await gate.inbox()) == ("sent", ["Lunch?"])


async def test_what_was_accepted_is_closed_though_the_clock_says_that_its_time_is_still_to_come(tmp_path):
    async with gate_rig(tmp_path) as gate:
        out = gate.gateway.store.outbox
        view = await gate.send(send_at=gate.gateway.now() + timedelta(hours=1))
        gate.time.pass_(3600)
        (send,) = gate.gateway.store.worklist.due()
        for to in (State.STAGED, State.SENDING, State.ACCEPTED):
            send = out.advance(send.send_id, expect=send.state, to=to)
        gate.gateway.abandoned.add(send.send_id)
        gate.time.wall -= 3600
        await worker.work_once(gate.gateway)
        assert state(gate, view.send_id) is State.DONE


async def test_a_mail_is_tried_for_five_days_and_not_a_second_longer(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = answering("retryable", reason="451 later")
        view = await gate.send()
        for passed, then in ((5 * A_DAY - 1, State.RETRYABLE), (1, State.NEEDS_HUMAN)):
            gate.time.pass_(passed)
            gate.gateway.store._database._connect().execute("UPDATE outbox SET wake_at = 0")
            await worker.work_once(gate.gateway)
            assert state(gate, view.send_id) is then


@pytest.mark.parametrize("scheduled", [False, True])
async def test_what_could_not_even_be_tried_is_put_before_a_person_after_five_days(tmp_path, scheduled):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        later = gate.gateway.now() + timedelta(days=30)
        view = await gate.send(send_at=later if scheduled else None)
        gate.time.pass_((30 * A_DAY if scheduled else 60) + 5 * A_DAY)
        await dispatch.rest(gate.gateway, view.send_id, AWAY)
        assert state(gate, view.send_id) is State.HELD
        gate.time.pass_(1)
        after = await dispatch.rest(gate.gateway, view.send_id, AWAY)
        assert (after.state, after.outcome["reason"]) == (State.NEEDS_HUMAN, "The server is away.")


@pytest.mark.parametrize("error", [Conflict("Somebody else has it."), RateLimited("Later.", retry_after=60)])
async def test_what_others_hold_up_is_no_trouble_of_the_mail_however_long_it_lasts(tmp_path, error: PostroomError):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send()
        gate.time.pass_(9 * A_DAY)
        assert (await dispatch.rest(gate.gateway, view.send_id, error)).state is State.HELD


async def test_what_was_stopped_while_it_ran_into_trouble_stays_stopped(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send()
        await outbox.cancel_send(gate.gateway, view.send_id)
        gate.time.pass_(9 * A_DAY)
        assert (await dispatch.rest(gate.gateway, view.send_id, AWAY)).state is State.CANCELLED


async def test_a_warning_about_the_original_stands_beside_all_that_the_provider_said(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        opened = await gate.gateway.accounts.open("alice")
        accepted = SubmitOutcome("accepted", ("bob@demo.example",), {}, warnings=("The copy was late.",))
        (await gate.meddle()).after = lambda _: accepted

        async def away(*_args, **_kwargs):
            raise AWAY

        opened.mailbox.set_flags = away
        view = await reply(gate, email_id)
        assert (view.status, view.accepted) == ("sent", ("bob@demo.example",))
        assert view.warnings[-2:] == (
            "The copy was late.",
            "The mail was sent, but the one it answers could not be marked as answered. The server is away.",
        )
