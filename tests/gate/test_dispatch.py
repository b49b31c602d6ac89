"""The way of one send through its states: at the very edge of its times, and when somebody else was faster."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import anyio
import pytest
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig
from tests.gate.test_originals import received, reply
from tests.gate.test_outcomes import answering, raising
from tests.unit.store.kit import A_DAY
from tests.unit.test_tracing import recorded

from postroom.model.errors import Conflict, PermissionDenied, PostroomError, ProviderUnavailable, RateLimited
from postroom.model.outcome import SubmitOutcome
from postroom.service.sending import dispatch, outbox, worker
from postroom.service.sending.approval import approvals
from postroom.store import State

AWAY = ProviderUnavailable("The server is away.")


def state(gate: GateRig, send_id: str) -> State:
    return gate.gateway.store.outbox.get(send_id).state


def logged_of_outbox(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What went wrong, and the kind of error it was; never what that said."""
    ours = [record for record in caplog.records if record.name == "postroom.outbox" and record.levelname == "WARNING"]
    return [(record.getMessage(), vars(record)["error_type"]) for record in ours]


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
            with gate.gateway.store._database.transaction() as connection:
                connection.execute("UPDATE outbox SET wake_at = 0")
            await worker.work_once(gate.gateway)
            assert state(gate, view.send_id) is then


@pytest.mark.parametrize("scheduled", [False, True])
async def test_what_could_not_even_be_tried_is_put_before_a_person_after_five_days(tmp_path, scheduled):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        later = gate.gateway.now() + timedelta(days=30)
        view = await gate.send(send_at=later if scheduled else None)
        gate.time.pass_((30 * A_DAY if scheduled else 60) + 5 * A_DAY - 1)
        await dispatch.rest(gate.gateway, view.send_id, AWAY)
        assert state(gate, view.send_id) is State.HELD
        gate.time.pass_(1)
        after = await dispatch.rest(gate.gateway, view.send_id, AWAY)
        assert (after.state, after.outcome["reason"]) == (State.NEEDS_HUMAN, "The server is away.")


FULL_HOUR = RateLimited("Later.", reason="send_limit", retry_after=60)


@pytest.mark.parametrize("error", [Conflict("Somebody else has it."), FULL_HOUR])
async def test_what_others_hold_up_is_no_trouble_of_the_mail_however_long_it_lasts(tmp_path, error: PostroomError):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send()
        gate.time.pass_(9 * A_DAY)
        assert (await dispatch.rest(gate.gateway, view.send_id, error)).state is State.HELD


@pytest.mark.parametrize(
    ("steps", "end"),
    [
        ((State.STAGED, State.SENDING), State.SENDING),
        ((State.STAGED, State.SENDING, State.UNKNOWN, State.RECONCILING), State.NEEDS_HUMAN),
        ((State.STAGED, State.SENDING, State.ACCEPTED), State.ACCEPTED),
    ],
)
async def test_what_may_have_left_is_put_before_a_person_only_as_such(tmp_path, steps, end):
    async with gate_rig(tmp_path) as gate:
        out = gate.gateway.store.outbox
        send = out.reserve(out.prepare((await gate.order()).as_send()).send_id).send
        for step in steps:
            send = out.advance(send.send_id, expect=send.state, to=step)
        gate.time.pass_(9 * A_DAY)
        after = await dispatch.rest(gate.gateway, send.send_id, AWAY)
        assert (after.state, after.doubtful) == (end, end is State.NEEDS_HUMAN)


async def test_what_waits_for_its_approval_is_not_put_before_a_person_for_another_reason(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        view = await gate.send()
        gate.time.pass_(9 * A_DAY)
        assert (await dispatch.rest(gate.gateway, view.send_id, AWAY)).state is State.AWAITING_APPROVAL


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
            "The message was sent, but the original could not be marked as answered. The server is away.",
        )


def failing(error: Exception, verb, *, when=lambda _: True):
    """The verb, but for the first call that `when` says yes to."""
    failed = []

    def meddled(*args, **kwargs):
        if not failed and when(kwargs):
            failed.append(True)
            raise error
        return verb(*args, **kwargs)

    return meddled


async def test_what_could_not_be_taken_back_after_a_refusal_is_taken_back_by_the_worker(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        out = gate.gateway.store.outbox
        monkeypatch.setattr(out, "reserve", failing(RateLimited("Full."), out.reserve))
        monkeypatch.setattr(out, "withdraw", failing(ProviderUnavailable("The disk is full."), out.withdraw))
        with pytest.raises(RateLimited, match="Full"):
            await gate.send(idempotency_key="k")
        (left,) = out.list().items
        assert (left.state, gate.gateway.abandoned) == (State.PREPARED, {left.send_id})
        await worker.work_once(gate.gateway)
        assert (state(gate, left.send_id), gate.gateway.abandoned) == (State.CANCELLED, set())
        assert (await gate.send(idempotency_key="k")).status == "sent"


async def test_a_state_file_that_fails_after_the_hand_over_is_no_reason_to_send_again(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        out, meddled = gate.gateway.store.outbox, await gate.meddle()
        full = failing(AWAY, out.advance, when=lambda given: given["to"] is State.ACCEPTED)
        monkeypatch.setattr(out, "advance", full)
        with pytest.raises(ProviderUnavailable):
            await gate.send()
        (send,) = out.list().items
        assert (send.state, gate.gateway.abandoned) == (State.SENDING, {send.send_id})
        await worker.work_once(gate.gateway)
        assert (state(gate, send.send_id), len(meddled.submitted)) == (State.DONE, 1)
        assert await gate.inbox() == ["Lunch?"]


async def test_a_send_that_somebody_else_has_is_left_to_them(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        out = gate.gateway.store.outbox
        monkeypatch.setattr(out, "advance", failing(Conflict("Another process has it."), out.advance))
        with pytest.raises(Conflict, match="Another process"):
            await gate.send()
        assert gate.gateway.abandoned == set()


@pytest.mark.parametrize(
    ("error", "then"),
    [
        (lambda _: Conflict("in progress", retry_after=5), State.APPROVED),
        (lambda send_id: Conflict("held by another process", details={"send_id": send_id}), State.APPROVED),
        (lambda _: Conflict("the key stands for another mail", details={"send_id": "s0000000000"}), State.NEEDS_HUMAN),
        (lambda _: Conflict("the key stands for another mail"), State.NEEDS_HUMAN),
        (lambda _: PermissionDenied("the approval covers other content"), State.NEEDS_HUMAN),
        (lambda _: RateLimited("full", retry_after=60), State.APPROVED),
    ],
)
async def test_an_approved_mail_waits_for_what_passes_and_asks_about_what_does_not(tmp_path, monkeypatch, error, then):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        store = gate.gateway.store
        store.approvals.approve(asked.approval.approval_id, who="ada", how="test")
        trouble = error(asked.send_id)
        monkeypatch.setattr(store.outbox, "reserve", failing(trouble, store.outbox.reserve))
        with pytest.raises(type(trouble)):
            await dispatch.go_on(gate.gateway, store.outbox.get(asked.send_id))
        row = store.outbox.get(asked.send_id)
        assert row.state is then
        assert row.outcome == ({"reason": trouble.message} if then is State.NEEDS_HUMAN else None)


async def test_a_full_hour_of_unknown_length_is_looked_at_again_after_five_minutes(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        out = gate.gateway.store.outbox
        full = failing(RateLimited("Full."), out.advance, when=lambda given: given["to"] is State.SENDING)
        monkeypatch.setattr(out, "advance", full)
        view = await gate.send()
        row = out.get(view.send_id)
        assert (row.wake_at - gate.time.wall, row.outcome) == (300, {"reason": "Full."})


async def test_who_has_got_it_is_not_forgotten_when_the_rest_may_no_longer_be_written_to(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = answering("retryable", accepted=("bob@demo.example",), reason="451 later")
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        time = gate.time
    time.pass_(60)
    async with gate_rig(tmp_path, time=time, block_recipients=["carol@demo.example"]) as gate:
        await worker.work_once(gate.gateway)
        row = gate.gateway.store.outbox.get(view.send_id)
        assert (row.state, row.outcome["accepted"]) == (State.NEEDS_HUMAN, ["bob@demo.example"])
        assert "block list" in row.outcome["reason"]


@pytest.mark.parametrize("state", ["accepted", "rejected"])
async def test_a_submission_is_traced_by_its_provider_and_its_outcome(tmp_path, state):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = answering(state)
        with recorded() as spans:
            await gate.send()
            (submitted,) = (span for span in spans() if span.name == "submit")
        assert dict(submitted.attributes) == {"postroom.provider": "local", "postroom.outcome": state}


@pytest.mark.parametrize("first", [("", ""), ("m1", "t1")])
@pytest.mark.parametrize("later", [("", ""), ("m2", "t2")])
async def test_where_the_copy_is_comes_from_the_last_attempt_that_told(tmp_path, first, later):
    then = tuple(new or old for old, new in zip(first, later, strict=True))
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("retryable", message_ref=first[0], thread_ref=first[1])
        held = await gate.send(idempotency_key="k")
        assert (held.message_ref, held.thread_ref) == first
        meddled.before = answering("accepted", message_ref=later[0], thread_ref=later[1])
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        sent = await gate.send(idempotency_key="k")
        assert (sent.status, sent.message_ref, sent.thread_ref) == ("already_executed", *then)


async def test_a_caller_who_hangs_up_while_it_is_submitted_leaves_nothing_half_done(tmp_path):
    async with gate_rig(tmp_path) as gate:
        with anyio.CancelScope() as call:
            (await gate.meddle()).before = lambda _: call.cancel()
            await gate.send()
        (row,) = gate.gateway.store.outbox.list().items
        assert (call.cancelled_caught, row.state, await gate.inbox()) == (True, State.DONE, ["Lunch?"])


async def test_an_approved_mail_whose_key_has_sent_it_meanwhile_is_not_sent_again(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        store, wishes = gate.gateway.store, replace(CONFIRMED, idempotency_key="k")
        asked = await gate.send(idempotency_key="k")
        store.approvals.approve(asked.approval.approval_id, who="ada", how="test")
        with store._database.transaction() as connection:
            connection.execute("DELETE FROM keys")  # as if it had not been kept for the mail that a person reads
        twin = store.outbox.reserve(store.outbox.prepare((await gate.order(wishes=wishes)).as_send()).send_id).send
        twin = await dispatch.go_on(gate.gateway, twin)
        assert await dispatch.go_on(gate.gateway, store.outbox.get(asked.send_id)) == twin
        assert (state(gate, asked.send_id), await gate.inbox()) == (State.CANCELLED, ["Lunch?"])


async def test_an_answer_that_is_lost_is_logged_by_its_kind_alone(tmp_path, caplog):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = raising(ConnectionResetError("a secret"))
        await gate.send()
    assert logged_of_outbox(caplog) == [("submit_unclear", "ConnectionResetError")]


async def test_evidence_is_looked_for_knowing_what_other_sends_ended_with(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled, looked_up = await gate.meddle(), []
        meddled.reconciled = lambda request: looked_up.append(request.others_sent)
        meddled.before = answering("accepted", message_ref="m1")
        await gate.send()
        meddled.before = answering("retryable", message_ref="m2")
        await gate.send(replace(MAIL, subject="Second"))
        meddled.before = answering("unknown")
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert looked_up == [{"m1"}]
