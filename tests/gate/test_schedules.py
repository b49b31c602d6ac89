"""The time of a schedule belongs to what is shown and approved, and a repeated call is answered whenever it comes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.gate.rigs import MAIL, gate_rig

from postroom.model.errors import Conflict, InvalidRequest
from postroom.service.organising import organise
from postroom.service.reading import search
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.order import Wishes, parse_time
from postroom.service.writing import composing, draft


async def test_a_time_without_an_offset_and_a_key_that_is_too_long_are_refused_by_name(tmp_path):
    async with gate_rig(tmp_path) as gate:
        for wrong, field in (
            ({"send_at": datetime(2027, 2, 1, 9, tzinfo=UTC).replace(tzinfo=None)}, "send_at"),
            ({"idempotency_key": "k" * 999}, "idempotency_key"),
        ):
            with pytest.raises(InvalidRequest, match=field) as refused:
                await gate.send(**wrong)
            assert refused.value.details == {"field": field}


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/New_York"])
@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59+00:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "0001-01-01T00:00Z"]
)
async def test_a_time_at_either_end_of_the_calendar_is_refused_as_any_other_that_is_too_far(tmp_path, time, zone):
    async with gate_rig(tmp_path, timezone=zone) as gate:
        with pytest.raises(InvalidRequest, match="in the future, within one year") as refused:
            await gate.send(send_at=parse_time(time))
        assert refused.value.details == {"field": "send_at"}


async def test_a_preview_for_next_year_does_not_release_a_send_for_now(tmp_path):
    async with gate_rig(tmp_path, gate="preview") as gate:
        later = gate.gateway.now() + timedelta(days=300)
        shown = await gate.send(confirm=False, send_at=later)
        assert shown.preview.send_at
        assert (await gate.send()).status == "preview"
        assert await gate.inbox() == []
        assert (await gate.send(send_at=later)).status == "scheduled"


async def test_an_approval_for_a_time_is_asked_for_anew_for_another(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        later = gate.gateway.now() + timedelta(days=1)
        first = await gate.send(send_at=later)
        second = await gate.send(send_at=later + timedelta(seconds=1))
        now = await gate.send()
        assert len({first.send_id, second.send_id, now.send_id}) == 3
        approved = await approvals.approve(gate.gateway, first.approval.approval_id, who="ada", how="test")
        assert approved.status == "scheduled"
        assert await gate.inbox() == []


async def test_one_moment_is_one_schedule_whatever_its_offset(tmp_path):
    async with gate_rig(tmp_path, gate="preview") as gate:
        later = gate.gateway.now() + timedelta(days=1)
        await gate.send(confirm=False, send_at=later)
        elsewhere = later.astimezone(timezone(timedelta(hours=5, minutes=30)))
        assert (await gate.send(send_at=elsewhere)).status == "scheduled"


async def test_a_changed_time_in_the_outbox_is_noticed(tmp_path):
    import sqlite3

    async with gate_rig(tmp_path) as gate:
        view = await gate.send(send_at=gate.gateway.now() + timedelta(days=30))
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            tampering.execute("UPDATE outbox SET send_at = '', not_before = NULL, wake_at = 0")
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.send_id, row.state) == (view.send_id, "needs_human")


async def test_a_scheduled_call_repeated_after_its_time_is_answered_with_its_result(tmp_path):
    async with gate_rig(tmp_path) as gate:
        wishes = {"idempotency_key": "k", "send_at": gate.gateway.now() + timedelta(hours=1)}
        assert (await gate.send(**wishes)).status == "scheduled"
        assert (await gate.send(**wishes)).status == "scheduled"
        gate.time.pass_(7200)
        await worker.work_once(gate.gateway)
        assert (await gate.send(**wishes)).status == "already_executed"
        with pytest.raises(InvalidRequest, match="future"):
            await gate.send(**{**wishes, "idempotency_key": "other"})
        with pytest.raises(Conflict, match="different email"):
            await gate.send(idempotency_key="k")
        assert await gate.inbox() == ["Lunch?"]


async def test_what_was_scheduled_before_times_were_covered_still_leaves(tmp_path):
    async with gate_rig(tmp_path) as gate:
        order = await gate.order()
        new = replace(order.as_send(), not_before=gate.time.wall + 3600)  # as the version before wrote it
        store = gate.gateway.store.outbox
        store.reserve(store.prepare(new).send_id)
        gate.time.pass_(3601)
        gate.gateway.store.worklist.release(store.list().items[0].send_id)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


async def test_a_second_confirmation_needs_a_second_preview_however_late_it_comes(tmp_path):
    async with gate_rig(tmp_path, gate="preview") as gate:
        await gate.send(confirm=False)
        assert (await gate.send()).status == "sent"
        for _ in range(5):  # a caller that retries every few minutes
            gate.time.pass_(300)
            again = await gate.send()
            assert again.status == "preview"
            assert "has been sent before" in again.message
        assert await gate.inbox() == ["Lunch?"]
        await gate.send(confirm=False)
        assert (await gate.send()).status == "sent"


async def scheduled_draft(gate):
    saved = await draft.create_draft(gate.gateway, MAIL)
    wishes = Wishes(confirm=True, send_at=gate.gateway.now() + timedelta(hours=1))
    order = await send.order_draft(gate.gateway, saved.draft_id, wishes)
    return saved, await send.send(gate.gateway, order)


async def test_a_scheduled_draft_is_neither_changed_nor_deleted_until_it_is_stopped(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved, view = await scheduled_draft(gate)
        assert view.status == "scheduled"
        with pytest.raises(Conflict, match="cancel_send") as refusal:
            await draft.update_draft(gate.gateway, saved.draft_id, draft.DraftChanges(body="Another time"))
        assert refusal.value.details["send_id"] == view.send_id
        with pytest.raises(Conflict, match="cancel_send"):
            await draft.delete_draft(gate.gateway, saved.draft_id)
        await outbox.cancel_send(gate.gateway, view.send_id)
        changed = await draft.update_draft(gate.gateway, saved.draft_id, draft.DraftChanges(subject="Another time"))
        assert changed.subject == "Another time"


async def test_a_scheduled_draft_does_not_leave_a_second_time(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved, view = await scheduled_draft(gate)
        order = await send.order_draft(gate.gateway, saved.draft_id, Wishes(confirm=True))
        with pytest.raises(Conflict, match="cancel_send") as refusal:
            await send.send(gate.gateway, order)
        assert refusal.value.details["send_id"] == view.send_id
        await outbox.cancel_send(gate.gateway, view.send_id)
        assert (await send.send(gate.gateway, order)).status == "sent"
        assert await gate.inbox() == ["Lunch?"]


async def test_a_draft_that_waits_for_approval_is_not_changed_under_it(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        saved = await draft.create_draft(gate.gateway, MAIL)
        order = await send.order_draft(gate.gateway, saved.draft_id, Wishes(confirm=True))
        await send.send(gate.gateway, order)
        with pytest.raises(Conflict, match="awaiting_approval"):
            await draft.update_draft(gate.gateway, saved.draft_id, draft.DraftChanges(body="Another time"))
        assert (await organise.delete(gate.gateway, [saved.email_id])).failed == 1


async def drafts_in(gate, mailbox="drafts"):
    return [row.subject for row in (await search.list_emails(gate.gateway, mailbox=mailbox)).results]


ORGANISED = {
    "deleted": organise.delete,
    "moved": lambda gateway, ids: organise.move(gateway, ids, "archive"),
}


@pytest.mark.parametrize("way", ORGANISED)
async def test_the_mail_of_a_scheduled_draft_stays_where_it_is_until_it_is_stopped(tmp_path, way):
    async with gate_rig(tmp_path) as gate:
        saved, view = await scheduled_draft(gate)
        free = await draft.create_draft(gate.gateway, replace(MAIL, subject="Free"))
        done = await ORGANISED[way](gate.gateway, [saved.email_id, free.email_id])
        kept, moved = done.results
        assert (done.succeeded, done.failed) == (1, 1)
        assert (kept.ok, kept.error.code, moved.ok) == (False, "CONFLICT", True)
        assert view.send_id in kept.error.message
        assert "cancel_send" in kept.error.message
        assert await drafts_in(gate) == ["Lunch?"]
        await outbox.cancel_send(gate.gateway, view.send_id)
        assert (await ORGANISED[way](gate.gateway, [saved.email_id])).succeeded == 1
        assert await drafts_in(gate) == []


async def test_a_scheduled_draft_can_be_marked_and_labelled(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved, _ = await scheduled_draft(gate)
        assert (await organise.mark(gate.gateway, [saved.email_id], "starred")).failed == 0
        assert (await organise.set_label(gate.gateway, [saved.email_id], "Soon", True)).failed == 0


async def test_undoing_does_not_take_a_scheduled_draft_away(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved = await draft.create_draft(gate.gateway, MAIL)
        deleted = await draft.delete_draft(gate.gateway, saved.draft_id)
        restored = await organise.undo(gate.gateway, deleted)
        wishes = Wishes(confirm=True, send_at=gate.gateway.now() + timedelta(hours=1))
        view = await send.send(gate.gateway, await send.order_draft(gate.gateway, saved.draft_id, wishes))
        again = await organise.undo(gate.gateway, restored.operation_id)
        assert (again.succeeded, again.failed) == (0, 1)
        assert again.results[0].error.code == "CONFLICT"
        assert await drafts_in(gate) == ["Lunch?"]
        await outbox.cancel_send(gate.gateway, view.send_id)
        assert (await organise.undo(gate.gateway, restored.operation_id)).succeeded == 1
        assert await drafts_in(gate, "trash") == ["Lunch?"]


async def test_a_scheduled_draft_is_not_replaced(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved, view = await scheduled_draft(gate)
        other = composing.DraftRequest(to=("bob@demo.example",), subject="Another time", body="Or not")
        with pytest.raises(Conflict, match=f"{saved.draft_id} is in the outbox") as refusal:
            await draft.replace_draft(gate.gateway, saved.draft_id, other)
        assert refusal.value.details["send_id"] == view.send_id
        assert await drafts_in(gate) == ["Lunch?"]
        await outbox.cancel_send(gate.gateway, view.send_id)
        assert (await draft.replace_draft(gate.gateway, saved.draft_id, other)).subject == "Another time"


def test_a_time_is_read_with_its_offset():
    assert parse_time("") is None
    assert parse_time("2026-12-01T09:00:00+01:00") == datetime(2026, 12, 1, 8, tzinfo=UTC)
    with pytest.raises(InvalidRequest, match="ISO 8601"):
        parse_time("tomorrow")


async def test_a_time_without_an_offset_is_refused(tmp_path):
    async with gate_rig(tmp_path) as gate:
        with pytest.raises(InvalidRequest, match="offset"):
            await send.order_mail(
                gate.gateway, composing.DraftRequest(), Wishes(send_at=gate.gateway.now().replace(tzinfo=None))
            )


async def test_an_undo_window_begins_anew_when_the_clock_is_set_back_to_before_it(tmp_path):
    """By a clock that was a month ahead and is put right, it would end in a month. Nobody knows how much is over."""
    async with gate_rig(tmp_path, hold_seconds=600) as gate:
        await gate.send()
        await gate.send(replace(MAIL, subject="Later"), send_at=gate.gateway.now() + timedelta(hours=1))
        gate.time.pass_(500)
        gate.time.wall -= 31 * 86_400
        await worker.work_once(gate.gateway)
        gate.time.pass_(599)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        gate.time.pass_(1)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]
        gate.time.pass_(31 * 86_400 + 3600)
        await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["Later", "Lunch?"]
