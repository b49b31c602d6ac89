"""What a provider may answer, or not answer, and what becomes of the send. Never twice, never lost."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import anyio
import pytest
from tests.gate.houses import MAIL, gate_house

from postroom.model.errors import AuthRequired, Conflict, PostroomError, ProviderUnavailable, RateLimited
from postroom.model.outcome import SubmitOutcome
from postroom.service import approvals, outbox, worker


def raising(error):
    def instead(_request):
        raise error

    return instead


def answering(state, **fields):
    return lambda _request: SubmitOutcome(state, **fields)


def lost(outcome):
    raise ConnectionResetError("the answer never came")


async def test_stopping_what_some_have_got_already_does_not_say_that_nothing_was_sent(tmp_path):
    async with gate_house(tmp_path) as gate:
        (await gate.meddle()).before = answering("retryable", accepted=("bob@demo.example",))
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        stopped = await outbox.cancel_send(gate.house, view.send_id)
        assert stopped.accepted == ("bob@demo.example",)
        assert "nothing was sent" not in stopped.message
        assert "1 recipient" in stopped.message


async def test_finished_sends_are_forgotten_after_a_month_without_anyone_asking(tmp_path):
    async with gate_house(tmp_path) as gate:
        await gate.send()
        gate.time.pass_(31 * 86_400)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(worker.run, gate.house, pause=0))
            with anyio.fail_after(60):
                while (await outbox.list_outbox(gate.house, include_finished=True)).total_count:
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert gate.house.store.audit.verify().ok
        assert gate.audit()[0]["action_type"] == "send_email"  # the audit forgets nothing


async def test_an_answer_lost_after_acceptance_is_found_out_and_not_sent_again(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lost
        view = await gate.send()
        assert view.status == "sent"  # the local mailbox's own marks are the witness
        assert len(meddled.submitted) == 1
        assert await gate.inbox() == ["Lunch?"]


async def test_an_answer_lost_before_acceptance_is_tried_again_later(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(ProviderUnavailable("gone"))
        assert (await gate.send()).status == "held"
        meddled.before = lambda _: None
        await worker.work_once(gate.house)
        assert await gate.inbox() == []  # not before its time
        gate.time.pass_(61)
        await worker.work_once(gate.house)
        assert await gate.inbox() == ["Lunch?"]


async def test_what_cannot_be_decided_is_shown_to_a_person_and_never_sent_by_itself(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lost
        meddled.reconciled = answering("unknown")
        view = await gate.send()
        assert view.status == "unknown"
        assert "postroom outbox resolve" in view.message
        again = await gate.send()  # the agent tries again all the same
        assert (again.status, again.send_id) == ("unknown", view.send_id)
        for _ in range(3):
            gate.time.pass_(4000)
            await worker.work_once(gate.house)
        assert len(meddled.submitted) == 1
        (row,) = (await outbox.list_outbox(gate.house)).results
        assert row.state == "needs_human"
        assert (await approvals.resolve(gate.house, view.send_id, "sent")).status == "sent"
        assert (await outbox.list_outbox(gate.house)).results == ()


@pytest.mark.parametrize(("verdict", "status", "arrived"), [("resend", "sent", 1), ("drop", "rejected", 0)])
async def test_a_person_may_send_it_again_or_drop_it(tmp_path, verdict, status, arrived):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("unknown")
        meddled.reconciled = answering("unknown")
        view = await gate.send()
        meddled.before = lambda _: None
        assert (await approvals.resolve(gate.house, view.send_id, verdict)).status == status
        assert len(await gate.inbox()) == arrived
        with pytest.raises(Conflict):
            await approvals.resolve(gate.house, view.send_id, "resend")


async def test_reconciling_waits_while_the_provider_cannot_be_reached(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lost
        meddled.reconciled = raising(ProviderUnavailable("still gone"))
        assert (await gate.send()).status == "unknown"
        meddled.reconciled = lambda _: None
        gate.time.pass_(61)
        await worker.work_once(gate.house)
        (row,) = (await outbox.list_outbox(gate.house, include_finished=True)).results
        assert row.state == "done"
        assert len(meddled.submitted) == 1


@pytest.mark.parametrize(
    "error", [AuthRequired("log in"), ProviderUnavailable("x"), RateLimited("slow", retry_after=9)]
)
async def test_errors_before_anything_was_handed_over(tmp_path, error):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(error)
        view = await gate.send()
        assert view.status == ("rejected" if isinstance(error, AuthRequired) else "held")
        assert await gate.inbox() == []


async def test_retries_end_after_a_few_and_say_so(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("retryable", reason="451 later")
        view = await gate.send()
        for _ in range(20):
            gate.time.pass_(4000)
            await worker.work_once(gate.house)
        assert len(meddled.submitted) == 5
        row, _, steps = await outbox.show_send(gate.house, view.send_id)
        assert row.state == "cancelled"
        assert row.reason == "451 later"
        assert sum("sending" in step for step in steps) == 5
        assert await gate.inbox() == []


async def test_a_definite_refusal_frees_the_key_for_a_corrected_mail(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("rejected", reason="550 no", refused={"bob@demo.example": "550 no"})
        assert (await gate.send(idempotency_key="k")).status == "rejected"
        meddled.before = lambda _: None
        assert (await gate.send(replace(MAIL, subject="Corrected"), idempotency_key="k")).status == "sent"


async def test_a_transport_that_reports_an_unapproved_recipient_is_caught(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lambda outcome: replace(outcome, accepted=(*outcome.accepted, "eve@evil.example"))
        view = await gate.send()
        assert any("not approved" in warning for warning in view.warnings)


async def test_a_caller_who_hangs_up_mid_send_leaves_nothing_half_done(tmp_path):
    import anyio

    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        with anyio.CancelScope() as scope:
            meddled.before = lambda _: scope.cancel()
            await gate.send()
        assert scope.cancel_called
        assert await gate.inbox() == ["Lunch?"]
        (row,) = (await outbox.list_outbox(gate.house, include_finished=True)).results
        assert row.state == "done"


FIELDS = {
    "recipient": ("UPDATE outbox SET recipients = replace(recipients, 'bob@', 'carol@')", ()),
    "blind copy": ('UPDATE outbox SET recipients = \'["bob@demo.example", "carol@demo.example"]\'', ()),
    "identity": ("UPDATE outbox SET sender = 'carol@demo.example'", ()),
    "thread": ("UPDATE outbox SET thread_ref = '7'", ()),
    "draft": ("UPDATE outbox SET draft_ref = '7'", ()),
    "account": ("UPDATE outbox SET account = 'carol'", ()),
    "subject": ("UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'Lunch', 'Dinner') AS BLOB)", ()),
    "body": ("UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'noon', 'dusk') AS BLOB)", ()),
    "attachment byte": ("UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'cGxhbg', 'cGxhbA') AS BLOB)", ()),
    "a new header": (
        """UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'Subject:', 'Bcc: eve@evil.example' ||
        char(13, 10) || 'Subject:') AS BLOB)""",
        (),
    ),
    "digest": ("UPDATE outbox SET content_sha256 = replace(content_sha256, substr(content_sha256, 1, 4), '0000')", ()),
}


@pytest.mark.parametrize("field", FIELDS)
async def test_whatever_is_changed_after_approval_is_refused(tmp_path, field):
    import sqlite3

    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "plan.txt").write_text("plan")
    async with gate_house(tmp_path, gate="approval", attachment_dirs=[str(tmp_path / "files")]) as gate:
        meddled = await gate.meddle()
        asked = await gate.send(replace(MAIL, attachments=("plan.txt",)))
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            assert tampering.execute(*FIELDS[field]).rowcount == 1
        with pytest.raises(PostroomError, match=r"Not sent|approval"):
            await approvals.approve(gate.house, asked.approval.approval_id, who="ada", how="test")
        await worker.work_once(gate.house)
        assert meddled.submitted == []
        for account in ("bob", "carol"):
            assert await gate.inbox(account) == []


async def test_a_mail_that_some_have_got_is_tried_until_all_have_it(tmp_path):
    async with gate_house(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("retryable", accepted=("bob@demo.example",))
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        for _ in range(8):
            gate.time.pass_(4000)
            await worker.work_once(gate.house)
        row, _, _ = await outbox.show_send(gate.house, view.send_id)
        assert row.state == "retryable"
        meddled.before = lambda _: None
        gate.time.pass_(4000)
        await worker.work_once(gate.house)
        assert await gate.inbox("carol") == ["Lunch?"]


async def test_an_approved_mail_whose_key_went_to_another_mail_is_over(tmp_path):
    async with gate_house(tmp_path, gate="approval") as gate:
        first = await gate.send(idempotency_key="k")
        second = await gate.send(replace(MAIL, subject="Other"), idempotency_key="k")
        await approvals.approve(gate.house, first.approval.approval_id, who="ada", how="test")
        late = await approvals.approve(gate.house, second.approval.approval_id, who="ada", how="test")
        assert late.status == "rejected"
        assert await gate.inbox() == ["Lunch?"]
        assert (await outbox.list_outbox(gate.house)).results == ()
