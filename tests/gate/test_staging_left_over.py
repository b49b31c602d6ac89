"""What is staged for a send that was stopped: ours is taken away in the end, and a person's own work never."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig
from tests.gate.test_dispatch import logged_of_outbox
from tests.gate.test_staging import at, drafts_of, losing, only, parked, raising, row, work_later
from tests.gate.transports import Stages, staging

from postroom.model.errors import Conflict, InternalError, PermissionDenied, ProviderUnavailable
from postroom.model.outcome import SubmitOutcome
from postroom.service.sending import outbox, send
from postroom.service.sending.approval import approvals
from postroom.service.writing import draft as drafts
from postroom.store import State

HOUR = 3600.0
WEEK = 7 * 86_400.0


def away(*steps: str) -> Any:
    def before(step: str) -> None:
        if step in steps:
            raise ProviderUnavailable("It is away.")

    return before


async def lost(gate: GateRig, stages: Stages) -> str:
    """A send whose draft is with the provider, and nobody has heard of its ref."""
    stages.after = losing("stage")
    view = await gate.send(idempotency_key="k")
    assert (only(gate).staged_ref, await drafts_of(gate)) == ("", ["Lunch?"])
    return view.send_id


async def test_a_draft_whose_ref_was_lost_is_looked_for_again_until_the_provider_answers(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        send_id = await lost(gate, stages)
        stages.before = away("find_staged")
        view = await outbox.cancel_send(gate.gateway, send_id)
        assert (view.status, len(view.warnings)) == ("cancelled", 1)
        stages.before = lambda _: None
        await work_later(gate, HOUR)
        assert await drafts_of(gate) == []


async def test_nor_does_it_wait_for_a_clock_that_was_ahead_and_has_been_put_right(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        send_id = await lost(gate, stages)
        stages.before = away("find_staged")
        await outbox.cancel_send(gate.gateway, send_id)
        stages.before = lambda _: None
        gate.time.wall -= WEEK
        await work_later(gate, HOUR)
        assert await drafts_of(gate) == []


async def test_a_process_that_dies_over_a_cancelled_send_leaves_the_draft_without_a_ref_to_the_next_one(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        gate.gateway.store.outbox.cancel(await lost(gate, stages))
        await work_later(gate)
        assert await drafts_of(gate) == []


async def test_a_draft_that_comes_into_being_after_the_cancellation_looked_for_it_is_found_later(tmp_path):
    """The request to stage it was still on its way, and its answer is lost as well."""
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = away("stage")
        view = await gate.send()
        request = gate.gateway.store.outbox.request(view.send_id)
        stages.before = lambda _: None
        assert (await outbox.cancel_send(gate.gateway, view.send_id)).warnings == ()
        await stages.stage(request)
        await work_later(gate)
        assert await drafts_of(gate) == ["Lunch?"]
        await work_later(gate, HOUR)
        assert await drafts_of(gate) == []
        looked = stages.steps.count("find_staged")
        await work_later(gate, HOUR)
        assert stages.steps.count("find_staged") == looked, "once found, it is over"


async def test_when_nothing_is_found_twice_it_is_over_and_the_bytes_are_gone(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = away("stage")
        view = await gate.send()
        await outbox.cancel_send(gate.gateway, view.send_id)
        for _ in range(3):
            await work_later(gate, HOUR)
        assert stages.steps.count("find_staged") == 2
        with pytest.raises(Conflict):
            gate.gateway.store.outbox.request(view.send_id)


async def test_a_send_that_is_cancelled_while_its_answer_is_lost_leaves_nothing_behind(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)

        def stopped_and_lost() -> None:
            gate.gateway.store.outbox.cancel(only(gate).send_id)
            raise ConnectionResetError

        stages.after = at("stage", stopped_and_lost)
        assert (await gate.send()).status == "cancelled"
        assert (await drafts_of(gate), stages.submitted) == ([], [])


async def test_a_draft_lost_after_a_person_had_it_sent_again_is_taken_away_too(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=1) as gate:
        stages = await staging(gate)
        stages.before = at("stage", raising(PermissionDenied("Not now.")))
        view = await gate.send()
        await work_later(gate)
        assert only(gate).state is State.NEEDS_HUMAN
        stages.after = losing("stage")
        await approvals.resolve(gate.gateway, view.send_id, "resend")
        assert (only(gate).state, await drafts_of(gate)) == (State.RETRYABLE, ["Lunch?"])
        await outbox.cancel_send(gate.gateway, view.send_id)
        assert await drafts_of(gate) == []


async def test_a_draft_whose_ref_was_lost_goes_with_a_send_that_a_person_drops(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        send_id = await lost(gate, stages)
        stages.before = away("find_staged")
        await work_later(gate, WEEK)
        assert only(gate).state is State.NEEDS_HUMAN
        stages.before = lambda _: None
        await approvals.resolve(gate.gateway, send_id, "drop")
        assert await drafts_of(gate) == []


async def edited(stages: Stages, ref: str) -> None:
    raw = await stages.mailbox.fetch_raw(ref)
    await stages.mailbox.update_draft(ref, raw.replace(b"noon", b"dusk"))


@pytest.mark.parametrize("way", ["cancel", "dead process"])
async def test_what_somebody_wrote_into_the_staged_draft_is_not_thrown_away_with_it(tmp_path, way):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        await edited(stages, waiting.staged_ref)
        if way == "cancel":
            view = await outbox.cancel_send(gate.gateway, waiting.send_id)
            assert ["was changed there" in warning for warning in view.warnings] == [True]
        else:
            gate.gateway.store.outbox.cancel(waiting.send_id)
        for _ in range(2):
            await work_later(gate, HOUR)
        assert await drafts_of(gate) == ["Lunch?"]
        assert "discard_staged" not in stages.steps
        assert row(gate, waiting.send_id).staged_ref == ""
        with pytest.raises(Conflict):
            gate.gateway.store.outbox.request(waiting.send_id)


async def test_what_somebody_changed_stays_when_a_person_drops_the_send(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        await edited(stages, waiting.staged_ref)
        await work_later(gate)
        assert (only(gate).state, only(gate).staged_ref) == (State.NEEDS_HUMAN, "")
        await approvals.resolve(gate.gateway, waiting.send_id, "drop")
        await work_later(gate, HOUR)
        assert await drafts_of(gate) == ["Lunch?"]


async def sent_in_place(gate: GateRig, stages: Stages) -> Any:
    """Staging writes the bytes into the saved draft itself."""

    async def in_place(request: Any) -> str:
        saved = await stages.mailbox.update_draft(request.draft_ref, request.raw)
        stages.after("stage")
        return str(saved.ref)

    stages.stage = in_place  # type: ignore[method-assign]
    saved = await drafts.create_draft(gate.gateway, MAIL)
    order = await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)
    return await send.send(gate.gateway, order)


async def test_a_draft_of_the_persons_own_survives_a_lost_answer_and_the_cancellation(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.after = losing("stage")
        view = await sent_in_place(gate, stages)
        assert (await outbox.cancel_send(gate.gateway, view.send_id)).warnings == ()
        for _ in range(2):
            await work_later(gate, HOUR)
        assert await drafts_of(gate) == ["Lunch?"]
        assert "discard_staged" not in stages.steps


@pytest.mark.parametrize("in_place", [False, True])
async def test_what_is_staged_when_its_send_is_over_and_cleared_up_is_ours_by_its_ref(tmp_path, in_place):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)

        def stopped_and_cleared() -> None:
            gate.gateway.store.outbox.cancel(only(gate).send_id)
            gate.gateway.store.outbox.nothing_staged(only(gate).send_id)

        stages.after = at("stage", stopped_and_cleared)
        with pytest.raises(Conflict):
            await (sent_in_place(gate, stages) if in_place else gate.send())
        assert await drafts_of(gate) == ["Lunch?"] * in_place
        assert (stages.submitted, only(gate).staged_ref) == ([], "")


async def test_what_is_gone_when_its_send_is_cancelled_is_no_trouble(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        await stages.mailbox.delete_draft(waiting.staged_ref)
        assert (await outbox.cancel_send(gate.gateway, waiting.send_id)).warnings == ()
        assert "discard_staged" not in stages.steps


async def test_where_nothing_is_ever_staged_a_cancellation_says_nothing_of_it(tmp_path):
    async with gate_rig(tmp_path) as gate:
        out = gate.gateway.store.outbox
        waiting = out.reserve(out.prepare((await gate.order()).as_send()).send_id).send
        out.advance(waiting.send_id, expect=State.RESERVED, to=State.STAGED)
        assert (await outbox.cancel_send(gate.gateway, waiting.send_id)).warnings == ()
        with pytest.raises(Conflict):
            out.request(waiting.send_id)


async def test_a_draft_that_stays_for_a_reason_without_words_is_told_of_in_one_sentence(tmp_path, caplog):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        stages.before = losing("discard_staged")
        (warning,) = (await outbox.cancel_send(gate.gateway, waiting.send_id)).warnings
        assert warning.endswith("could not be removed yet.")
        assert logged_of_outbox(caplog)[-1] == ("left_staged", "ConnectionResetError")


async def test_a_draft_that_is_gone_is_not_staged_again_by_the_process_after_a_crash(tmp_path, monkeypatch):
    """The person was about to be asked when the state file failed."""
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        await stages.mailbox.delete_draft(waiting.staged_ref)
        out = gate.gateway.store.outbox
        real, fails = out.advance, [True]

        def failing(send_id: str, *, expect: Any, to: State, **changes: Any) -> Any:
            if to is State.NEEDS_HUMAN and fails:
                fails.clear()
                raise InternalError("The state file cannot be written.")
            return real(send_id, expect=expect, to=to, **changes)

        monkeypatch.setattr(out, "advance", failing)
        for _ in range(3):
            await work_later(gate)
        assert only(gate).state is State.NEEDS_HUMAN
        assert (stages.submitted, stages.steps.count("stage")) == ([], 1)
        assert await gate.inbox() == []


async def test_a_draft_that_somebody_sent_before_its_ref_was_known_is_not_staged_again(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        send_id = await lost(gate, stages)
        (ref,) = [saved.ref for saved, _ in (await stages.mailbox.list_drafts(limit=9, offset=0)).items]
        await stages.mailbox.delete_draft(ref)

        async def found_in_sent(_: Any) -> SubmitOutcome:
            return SubmitOutcome("accepted", accepted=("bob@demo.example",))

        monkeypatch.setattr(stages, "reconcile", found_in_sent)
        await work_later(gate)
        assert only(gate).state is State.NEEDS_HUMAN
        assert "Check Sent" in only(gate).outcome["reason"]
        assert (stages.submitted, stages.steps.count("stage")) == ([], 1)
        again = await approvals.resolve(gate.gateway, send_id, "resend")
        assert (again.status, len(stages.submitted)) == ("sent", 1), "a person's word counts"


async def test_a_provider_that_cannot_be_read_after_a_first_attempt_is_put_before_a_person_after_days(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = losing("submit")
        view = await gate.send()
        assert row(gate, view.send_id).state is State.RETRYABLE
        stages.before = away("staged")
        await work_later(gate, 4 * 86_400)
        assert row(gate, view.send_id).state is State.RETRYABLE
        await work_later(gate, 2 * 86_400)
        assert row(gate, view.send_id).state is State.NEEDS_HUMAN
        stages.before = at("staged", raising(ProviderUnavailable("It is away.")))
        await approvals.resolve(gate.gateway, view.send_id, "resend")
        assert row(gate, view.send_id).state is State.RETRYABLE, "a person's word begins the five days anew"
        await work_later(gate)
        assert await gate.inbox() == ["Lunch?"]


async def test_a_provider_that_cannot_stage_gets_five_more_days_when_a_person_has_it_sent_again(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = away("stage")
        view = await gate.send()
        await work_later(gate, 6 * 86_400)
        assert row(gate, view.send_id).state is State.NEEDS_HUMAN
        await approvals.resolve(gate.gateway, view.send_id, "resend")
        assert row(gate, view.send_id).state is State.RETRYABLE
        stages.before = lambda _: None
        await work_later(gate)
        assert await gate.inbox() == ["Lunch?"]


async def test_the_copy_of_a_second_attempt_is_taken_away_when_the_first_turns_out_to_be_the_one_that_was_sent(
    tmp_path, monkeypatch
):
    """The provider recognises the mail and leaves the draft it was given: a person could send that again."""
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = losing("submit")
        view = await gate.send()
        assert await drafts_of(gate) == ["Lunch?"]

        async def known_already(_: Any) -> SubmitOutcome:
            return SubmitOutcome("accepted", accepted=("bob@demo.example",))

        monkeypatch.setattr(stages, "submit", known_already)
        await work_later(gate)
        assert row(gate, view.send_id).state is State.DONE
        assert await drafts_of(gate) == []


async def test_a_copy_that_cannot_be_taken_away_after_a_second_attempt_keeps_no_mail_from_being_done(
    tmp_path, monkeypatch
):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = losing("submit")
        view = await gate.send()

        async def known_already(_: Any) -> SubmitOutcome:
            stages.before = away("staged")
            return SubmitOutcome("accepted", accepted=("bob@demo.example",))

        monkeypatch.setattr(stages, "submit", known_already)
        await work_later(gate)
        assert row(gate, view.send_id).state is State.DONE
