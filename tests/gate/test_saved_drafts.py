"""A saved draft that waits to be sent, and what other programs do with it meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig
from tests.gate.test_staging import at, drafts_of, only, raising, work_later
from tests.gate.transports import staging

from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, RateLimited
from postroom.model.outcome import SubmitRequest
from postroom.providers.layers.layered import unwrapped
from postroom.service.sending import send
from postroom.service.views import SendView
from postroom.service.writing import draft as drafts
from postroom.store import State


async def send_draft(gate: GateRig) -> SendView:
    saved = await drafts.create_draft(gate.gateway, MAIL)
    return await send.send(gate.gateway, await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED))


async def change_draft_elsewhere(gate: GateRig) -> None:
    mailbox = unwrapped((await gate.gateway.accounts.open("alice")).mailbox)
    ((saved, _),) = (await mailbox.list_drafts(limit=10, offset=0)).items
    raw = await mailbox.fetch_raw(saved.message_ref)
    await mailbox.update_draft(saved.ref, raw.replace(b"Lunch?", b"Dinner?"))


async def test_a_person_who_wants_the_approved_words_sent_keeps_the_draft_that_somebody_changed(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view, meddled = await send_draft(gate), await gate.meddle()
        await change_draft_elsewhere(gate)
        await work_later(gate)
        stopped = only(gate)
        assert stopped.state is State.NEEDS_HUMAN
        assert stopped.outcome == {
            "reason": "Not sent: the saved draft is no longer what was approved. Somebody changed, sent or deleted it "
            "in another program. Check Drafts and Sent before it is sent."
        }
        gate.gateway.store.outbox.resolve(view.send_id, "resend")
        await work_later(gate)
        assert [request.draft_ref for request in meddled.submitted] == [""]
        assert (await gate.inbox(), await drafts_of(gate)) == (["Lunch?"], ["Dinner?"])


async def test_a_draft_that_nobody_touched_is_sent_and_gone(tmp_path: Path) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        await send_draft(gate)
        await work_later(gate)
        assert (await gate.inbox(), await drafts_of(gate)) == (["Lunch?"], [])


async def test_a_draft_that_leaves_at_once_is_not_fetched_and_compared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        order = await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)
        loaded: list[object] = []
        monkeypatch.setattr(drafts, "load_own_draft", lambda *asked: loaded.append(asked))
        assert (await send.send(gate.gateway, order)).status == "sent"
        assert loaded == []


async def test_a_draft_that_was_changed_while_a_person_was_asked_is_neither_sent_nor_lost(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        order = await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)
        await drafts.update_draft(gate.gateway, saved.draft_id, drafts.DraftChanges(subject="Dinner?"))
        with pytest.raises(Conflict, match="after it was read for this send"):
            await send.send(gate.gateway, order)
        assert (await gate.inbox(), await drafts_of(gate)) == ([], ["Dinner?"])
        again = await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)
        assert (await send.send(gate.gateway, again)).status == "sent"
        assert (await gate.inbox(), await drafts_of(gate)) == (["Dinner?"], [])


async def test_a_staged_mail_that_was_never_a_saved_draft_is_tried_again(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        (await staging(gate)).before = at("submit", raising(RateLimited("Not so fast.")))
        await gate.send()
        assert (only(gate).state, only(gate).staged_ref != "") == (State.RETRYABLE, True)
        await work_later(gate)
        assert (only(gate).state, await gate.inbox()) == (State.DONE, ["Lunch?"])


async def test_a_draft_that_is_staged_where_it_lies_is_missed_as_what_was_staged(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)

        async def in_place(request: SubmitRequest) -> str:
            return request.draft_ref

        stages.stage = in_place  # type: ignore[method-assign]
        stages.before = at("submit", raising(RateLimited("Not so fast.")))
        await send_draft(gate)
        await stages.mailbox.delete_draft(only(gate).draft_ref)
        await work_later(gate)
        assert only(gate).state is State.NEEDS_HUMAN
        assert "The copy prepared for sending is gone from the mailbox" in (only(gate).outcome or {})["reason"]


async def test_of_a_draft_that_is_gone_only_the_very_call_that_sent_it_is_answered_again(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved, other = [await drafts.create_draft(gate.gateway, replace(MAIL, subject=name)) for name in ("A", "B")]
        keyed = replace(CONFIRMED, idempotency_key="k")
        first = await send.send(gate.gateway, await send.order_draft(gate.gateway, saved.draft_id, keyed))
        await drafts.delete_draft(gate.gateway, other.draft_id)

        again = await send.order_draft(gate.gateway, saved.draft_id, keyed)
        assert (again.status, again.send_id) == ("already_executed", first.send_id)
        for draft_id, wishes in (
            (saved.draft_id, CONFIRMED),
            (saved.draft_id, replace(keyed, confirm=False)),
            (saved.draft_id, replace(keyed, idempotency_key="another")),
            (other.draft_id, keyed),
            ("d0000000000", keyed),
        ):
            with pytest.raises(NotFound):
                await send.order_draft(gate.gateway, draft_id, wishes)


@pytest.mark.parametrize(
    "error", [NotFound("?"), PermissionDenied("No draft any more."), InvalidRequest("From another.")]
)
async def test_a_draft_that_is_gone_no_draft_any_more_or_somebody_elses_is_put_before_a_person(tmp_path, error):
    async with gate_rig(tmp_path, hold_seconds=1) as gate:
        held = await send_draft(gate)

        async def missing(_ref: str) -> None:
            raise error

        (await gate.gateway.accounts.open("alice")).drafts.find_draft = missing
        await work_later(gate)
        row = gate.gateway.store.outbox.get(held.send_id)
        assert (row.state, await gate.inbox()) == (State.NEEDS_HUMAN, [])
        assert "the saved draft is no longer what was approved" in row.outcome["reason"]
