"""What a provider may answer, or not answer, and what becomes of the send. Never twice, never lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import anyio
import pytest
from tests.gate.rigs import MAIL, START, gate_rig

from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderUnavailable,
    RateLimited,
    Unsupported,
)
from postroom.model.outcome import SubmitOutcome
from postroom.service.notices import notices
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals


def raising(error):
    def instead(_request):
        raise error

    return instead


def answering(state, **fields):
    return lambda _request: SubmitOutcome(state, **fields)


def lost(outcome):
    raise ConnectionResetError("the answer never came")


async def test_stopping_what_some_have_got_already_does_not_say_that_nothing_was_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = answering("retryable", accepted=("bob@demo.example",))
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        stopped = await outbox.cancel_send(gate.gateway, view.send_id)
        assert stopped.accepted == ("bob@demo.example",)
        assert "nothing was sent" not in stopped.message
        assert "1 recipient" in stopped.message


async def test_finished_sends_are_forgotten_after_a_month_without_anyone_asking(tmp_path):
    async with gate_rig(tmp_path) as gate:
        await gate.send()
        gate.time.pass_(31 * 86_400)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(worker.run, gate.gateway, pause=0))
            with anyio.fail_after(60):
                while (await outbox.list_outbox(gate.gateway, include_finished=True)).total_count:
                    gate.time.pass_(3600)
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert gate.gateway.store.audit.verify().ok
        assert gate.audit()[0]["action_type"] == "send_email"  # the audit forgets nothing


async def test_an_answer_lost_after_acceptance_is_found_out_and_not_sent_again(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lost
        view = await gate.send()
        assert view.status == "sent"  # the local mailbox's own marks are the witness
        assert len(meddled.submitted) == 1
        assert await gate.inbox() == ["Lunch?"]


async def test_an_answer_lost_before_acceptance_is_tried_again_later(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(ProviderUnavailable("gone"))
        assert (await gate.send()).status == "held"
        meddled.before = lambda _: None
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []  # not before its time
        gate.time.pass_(61)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


async def test_what_cannot_be_decided_is_shown_to_a_person_and_never_sent_by_itself(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lost
        meddled.reconciled = answering("unknown")
        view = await gate.send()
        assert view.status == "unknown"
        assert "a person must look at the outbox" in view.message
        assert "postroom " not in view.message  # no command that an agent could run
        again = await gate.send()  # the agent tries again all the same
        assert (again.status, again.send_id) == ("unknown", view.send_id)
        for _ in range(3):
            gate.time.pass_(4000)
            await worker.work_once(gate.gateway)
        assert len(meddled.submitted) == 1
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert row.state == "needs_human"
        assert (await approvals.resolve(gate.gateway, view.send_id, "sent")).status == "sent"
        assert (await outbox.list_outbox(gate.gateway)).results == ()


@pytest.mark.parametrize(("verdict", "status", "arrived"), [("resend", "sent", 1), ("drop", "unknown", 0)])
async def test_a_person_may_send_it_again_or_drop_it(tmp_path, verdict, status, arrived):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("unknown")
        meddled.reconciled = answering("unknown")
        view = await gate.send()
        meddled.before = lambda _: None
        assert (await approvals.resolve(gate.gateway, view.send_id, verdict)).status == status
        assert len(await gate.inbox()) == arrived
        with pytest.raises(Conflict):
            await approvals.resolve(gate.gateway, view.send_id, "resend")


async def test_reconciling_waits_while_the_provider_cannot_be_reached(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lost
        meddled.reconciled = raising(ProviderUnavailable("still gone"))
        assert (await gate.send()).status == "unknown"
        meddled.reconciled = lambda _: None
        gate.time.pass_(61)
        await worker.work_once(gate.gateway)
        (row,) = (await outbox.list_outbox(gate.gateway, include_finished=True)).results
        assert row.state == "done"
        assert len(meddled.submitted) == 1


@pytest.mark.parametrize(
    "error", [AuthRequired("log in"), ProviderUnavailable("x"), RateLimited("slow", retry_after=9)]
)
async def test_errors_before_anything_was_handed_over(tmp_path, error):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(error)
        assert (await gate.send()).status == "held"
        assert await gate.inbox() == []
        meddled.before = lambda _: None
        gate.time.pass_(7 * 3600)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize(
    "error", [InvalidRequest("no"), NotFound("no"), PermissionDenied("no"), Unsupported("local", "such thing")]
)
async def test_an_error_that_says_that_nothing_was_handed_over_ends_the_send_with_its_reason(tmp_path, error):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = raising(error)
        view = await gate.send()
        assert view.status == "rejected"
        assert view.message == f"The provider refused it; nothing was sent. {error.message}"


async def hours_pass(gate, hours):
    for _ in range(hours):
        gate.time.pass_(3600)
        await worker.work_once(gate.gateway)


WAYS = {
    "at once": ({}, {}),
    "held": ({"hold_seconds": 60}, {}),
    "scheduled": ({}, {"send_at": datetime.fromtimestamp(START + 7200, UTC)}),
    "approved": ({}, {"require_approval": True}),
}


async def on_its_way(gate, **wishes):
    """Sent off, and where a person is asked, approved."""
    view = await gate.send(**wishes)
    if view.approval is not None:
        await approvals.approve(gate.gateway, view.approval.approval_id, who="ada", how="test")
    return view


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("trouble", [answering("retryable", reason="451 later"), raising(AuthRequired("535 no"))])
async def test_an_outage_of_two_days_loses_nothing(tmp_path, way, trouble):
    safety, wishes = WAYS[way]
    async with gate_rig(tmp_path, **safety) as gate:
        meddled = await gate.meddle()
        meddled.before = trouble
        view = await on_its_way(gate, **wishes)
        await hours_pass(gate, 48)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.send_id, row.state) == (view.send_id, "retryable")
        assert row.reason
        assert 5 < len(meddled.submitted) < 40  # growing pauses
        meddled.before = lambda _: None
        await hours_pass(gate, 7)
        assert await gate.inbox() == ["Lunch?"]


async def test_after_days_of_trouble_a_person_is_asked_and_the_mail_is_still_there(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("retryable", reason="451 later")
        view = await gate.send()
        await hours_pass(gate, 6 * 24)
        attempts = len(meddled.submitted)
        await hours_pass(gate, 6 * 24)
        assert len(meddled.submitted) == attempts
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert row.state == "needs_human"
        assert "5 days" in row.reason
        assert "451 later" in row.reason
        again = await gate.send()
        assert (again.status, again.send_id) == ("needs_human", view.send_id)
        assert "was not sent" in again.message
        # a person has it sent again, and the days count anew
        assert (await approvals.resolve(gate.gateway, view.send_id, "resend")).status == "held"
        meddled.before = lambda _: None
        await hours_pass(gate, 5)
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "at once"])
@pytest.mark.parametrize("trouble", [answering("rejected", reason="550 no"), raising(NotFound("no Sent"))])
async def test_a_refusal_that_nobody_waits_for_is_put_before_a_person_with_the_bytes(tmp_path, way, trouble):
    safety, wishes = WAYS[way]
    async with gate_rig(tmp_path, **safety) as gate:
        meddled = await gate.meddle()
        meddled.before = trouble
        view = await on_its_way(gate, **wishes)
        await hours_pass(gate, 3)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.send_id, row.state) == (view.send_id, "needs_human")
        assert row.reason in ("550 no", "no Sent")
        assert gate.gateway.store.outbox.request(view.send_id).raw
        dropped = await approvals.resolve(gate.gateway, view.send_id, "drop")
        assert dropped.status == "cancelled"
        assert "nothing was sent" in dropped.message
        assert await gate.inbox() == []


async def test_a_refusal_that_the_caller_waits_for_is_told_and_listed(tmp_path):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = answering("rejected", reason="550 no")
        assert (await gate.send()).status == "rejected"
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.state, row.reason) == ("rejected", "550 no")


async def test_a_refused_login_pauses_the_account_and_is_said_until_it_works_again(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(AuthRequired("The login was refused (535)."))
        assert (await gate.send()).status == "held"
        (notice,) = notices(gate.gateway)
        assert "Account alice has been unable to send" in notice
        assert "535" in notice
        second = await gate.send(replace(MAIL, subject="Second"))
        assert second.status == "held"
        assert "535" in second.message
        assert len(meddled.submitted) == 1  # a server that sees a wrong password too often locks the account
        for _ in range(14):
            gate.time.pass_(60)
            await worker.work_once(gate.gateway)
        assert len(meddled.submitted) == 1
        gate.time.pass_(120)
        await worker.work_once(gate.gateway)
        assert len(meddled.submitted) == 2
        meddled.before = lambda _: None
        gate.time.pass_(1801)
        for _ in range(2):
            await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["Lunch?", "Second"]
        assert notices(gate.gateway) == ()


async def test_an_account_that_cannot_be_opened_for_days_is_put_before_a_person(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send()

        async def closed(_name):
            raise ProviderUnavailable("The server cannot be reached.")

        with monkeypatch.context() as patched:
            patched.setattr(gate.gateway.accounts, "open", closed)
            await hours_pass(gate, 4 * 24)
            (row,) = (await outbox.list_outbox(gate.gateway)).results
            assert (row.state, row.reason) == ("held", "The server cannot be reached.")
            await hours_pass(gate, 2 * 24)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.state, row.reason) == ("needs_human", "The server cannot be reached.")
        assert (await approvals.resolve(gate.gateway, view.send_id, "resend")).status == "sent"
        assert await gate.inbox() == ["Lunch?"]


async def test_all_that_waits_for_a_login_that_works_is_put_before_a_person_after_five_days(tmp_path):
    """Weeks later, what was written then may not be meant any more."""
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(AuthRequired("535"))
        await gate.send()
        assert (await gate.send(replace(MAIL, subject="Second"))).status == "held"
        await hours_pass(gate, 6 * 24)
        assert {row.state for row in (await outbox.list_outbox(gate.gateway)).results} == {"needs_human"}
        meddled.before = lambda _: None
        await hours_pass(gate, 24)
        assert await gate.inbox() == []


async def test_what_was_put_aside_before_its_first_attempt_is_kept_when_that_is_refused(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(AuthRequired("535"))
        await gate.send()
        second = await gate.send(replace(MAIL, subject="Second"))  # the account is paused: not even tried
        assert (second.status, len(meddled.submitted)) == ("held", 1)
        meddled.before = answering("rejected", reason="550 no")
        await hours_pass(gate, 7)
        rows = {row.send_id: row for row in (await outbox.list_outbox(gate.gateway)).results}
        assert (rows[second.send_id].state, rows[second.send_id].reason) == ("needs_human", "550 no")


async def test_a_server_that_starts_anew_tries_a_refused_login_at_once(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(AuthRequired("535"))
        await gate.send()
        meddled.before = lambda _: None
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        gate.gateway.store.pauses.try_soon()
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize("ended_by", ["a login that works", "a new start"])
async def test_the_end_of_a_pause_wakes_all_that_waited_for_it(tmp_path, ended_by):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(AuthRequired("535"))
        await gate.send()
        await gate.send(replace(MAIL, subject="Never tried"))
        soon = datetime.fromtimestamp(START + 60, UTC)
        await gate.send(replace(MAIL, subject="Scheduled"), send_at=soon)
        later = datetime.fromtimestamp(START + 86_400, UTC)
        await gate.send(replace(MAIL, subject="Tomorrow"), send_at=later)
        gate.time.pass_(120)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        meddled.before = lambda _: None
        if ended_by == "a new start":
            gate.gateway.store.pauses.try_soon()
        else:
            gate.gateway.store.pauses.login_worked("alice")
        await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["Lunch?", "Never tried", "Scheduled"]


@pytest.mark.parametrize("login_refused", [False, True], ids=["server away", "login refused"])
async def test_a_clock_that_was_years_ahead_when_it_failed_keeps_no_mail_back(tmp_path, login_refused):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("retryable", login_refused=login_refused)
        gate.time.wall += 10 * 365 * 86_400
        for subject in ("Lunch?", "Second"):
            assert (await gate.send(replace(MAIL, subject=subject))).status == "held"
        gate.time.wall -= 10 * 365 * 86_400
        later = datetime.fromtimestamp(START + 3 * 86_400, UTC)
        await gate.send(replace(MAIL, subject="In three days"), send_at=later)
        meddled.before = lambda _: None
        gate.time.pass_(3600)
        for _ in range(2):
            await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["Lunch?", "Second"]


async def test_what_arrived_and_was_dropped_is_never_said_not_to_have_been_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after, meddled.reconciled = lost, answering("unknown")
        view = await gate.send(idempotency_key="k")
        assert await gate.inbox() == ["Lunch?"]
        dropped = await approvals.resolve(gate.gateway, view.send_id, "drop")
        meddled.after = lambda outcome: outcome
        again = await gate.send(idempotency_key="k")
        for told in (dropped, again):
            assert (told.status, told.send_id) == ("unknown", view.send_id)
            assert "may have been sent" in told.message
            assert "nothing was sent" not in told.message
        with pytest.raises(Conflict, match="different email"):
            await gate.send(replace(MAIL, subject="Other"), idempotency_key="k")
        assert await gate.inbox() == ["Lunch?"]


async def test_a_stop_after_a_resend_does_not_say_that_nothing_was_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after, meddled.reconciled = lost, answering("unknown")
        view = await gate.send(idempotency_key="k")
        meddled.before = answering("retryable", reason="451 later")
        tried = await approvals.resolve(gate.gateway, view.send_id, "resend")
        stopped = await outbox.cancel_send(gate.gateway, view.send_id)
        again = await gate.send(idempotency_key="k")
        for told in (tried, stopped, again):
            assert told.status == "unknown"
            assert "nothing was sent" not in told.message
        assert await gate.inbox() == ["Lunch?"]


async def test_a_refused_resend_still_says_that_an_earlier_attempt_may_have_been_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after, meddled.reconciled = lost, answering("unknown")
        view = await gate.send()
        meddled.before = answering("rejected", reason="550 no")
        refused = await approvals.resolve(gate.gateway, view.send_id, "resend")
        dropped = await approvals.resolve(gate.gateway, view.send_id, "drop")
        assert (refused.status, dropped.status) == ("unknown", "unknown")
        assert "nothing was sent" not in refused.message + dropped.message


async def test_a_person_s_word_that_it_was_sent_is_told_as_such(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before, meddled.reconciled = answering("unknown"), answering("unknown")
        view = await gate.send(idempotency_key="k")
        said = await approvals.resolve(gate.gateway, view.send_id, "sent")
        assert (said.status, said.message) == ("sent", "A person confirmed that it was sent.")
        again = await gate.send(idempotency_key="k")
        assert again.status == "already_executed"
        assert "A person confirmed" in again.message


async def test_a_cancelled_mail_stays_cancelled_for_the_call_that_sent_it(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        held = await gate.send(idempotency_key="k")
        await outbox.cancel_send(gate.gateway, held.send_id)
        again = await gate.send(idempotency_key="k")
        assert (again.status, again.send_id) == ("cancelled", held.send_id)
        await hours_pass(gate, 2)
        assert await gate.inbox() == []


async def test_recipients_that_were_refused_on_the_way_are_listed(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        meddled = await gate.meddle()
        meddled.after = lambda outcome: replace(outcome, refused={"carol@demo.example": "550"})
        view = await gate.send()
        await hours_pass(gate, 1)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.send_id, row.state, row.reason) == (view.send_id, "done", "1 recipient refused")


async def test_who_got_an_earlier_attempt_is_not_forgotten_by_a_later_one(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("retryable", accepted=("bob@demo.example",))
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        meddled.before = answering("rejected", reason="550 no")
        await hours_pass(gate, 1)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert row.state == "needs_human"
        dropped = await approvals.resolve(gate.gateway, view.send_id, "drop")
        assert dropped.accepted == ("bob@demo.example",)
        assert "had already accepted it for 1 recipient." in dropped.message


async def test_a_definite_refusal_frees_the_key_for_a_corrected_mail(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("rejected", reason="550 no", refused={"bob@demo.example": "550 no"})
        assert (await gate.send(idempotency_key="k")).status == "rejected"
        meddled.before = lambda _: None
        assert (await gate.send(replace(MAIL, subject="Corrected"), idempotency_key="k")).status == "sent"


async def test_a_transport_that_reports_an_unapproved_recipient_is_caught(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.after = lambda outcome: replace(outcome, accepted=(*outcome.accepted, "eve@evil.example"))
        view = await gate.send()
        assert any("not approved" in warning for warning in view.warnings)


async def test_all_else_that_such_a_transport_said_is_kept(tmp_path):
    async with gate_rig(tmp_path) as gate:
        told = SubmitOutcome(
            "accepted",
            accepted=("bob@demo.example", "eve@evil.example"),
            refused={"carol@demo.example": "550"},
            message_ref="m7",
            thread_ref="t7",
            reason="half done",
            warnings=("odd",),
        )
        (await gate.meddle()).before = lambda _: told
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        assert (view.status, view.accepted, view.refused) == ("sent", told.accepted, {"carol@demo.example": "550"})
        assert view.warnings[-2:] == (
            "odd",
            "The provider reports a recipient who was not approved. Tell the operator at once.",
        )
        kept = gate.gateway.store.outbox.get(view.send_id).outcome
        assert kept["message_ref"] == "m7"
        assert (kept["thread_ref"], kept["reason"]) == ("t7", "half done")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ProviderUnavailable("gone away"), "gone away"), (ConnectionResetError("secret"), "no response")],
)
async def test_why_an_answer_was_lost_is_kept_but_nothing_that_only_a_program_said(tmp_path, error, reason):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = raising(error)
        meddled.reconciled = raising(ProviderUnavailable(""))
        view = await gate.send()
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (view.status, row.state, row.reason) == ("unknown", "reconciling", reason)


async def test_what_finding_out_came_to_is_kept_with_its_reason(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("unknown", reason="timeout")
        meddled.reconciled = answering("unknown", reason="no trace of it")
        view = await gate.send()
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.state, row.reason) == ("needs_human", "no trace of it")
        assert gate.gateway.store.outbox.get(view.send_id).doubtful


@pytest.mark.parametrize("words", [{"body": "One\ntwo\n"}, {"body": "", "body_html": "<p>One</p>\n<p>two</p>\n"}])
async def test_a_repeated_mail_is_warned_about_whether_it_is_text_or_html(tmp_path, words):
    async with gate_rig(tmp_path) as gate:
        mail = replace(MAIL, **words)
        await gate.send(mail)
        again = await gate.send(mail, confirm=False)
        assert any("was just sent" in warning for warning in again.warnings)
        changed = {name: text.replace("One", "Three") for name, text in words.items()}
        other = await gate.send(replace(mail, **changed), confirm=False)
        assert not any("was just sent" in warning for warning in other.warnings)


async def test_a_caller_who_hangs_up_mid_send_leaves_nothing_half_done(tmp_path):
    import anyio

    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        with anyio.CancelScope() as scope:
            meddled.before = lambda _: scope.cancel()
            await gate.send()
        assert scope.cancel_called
        assert await gate.inbox() == ["Lunch?"]
        (row,) = (await outbox.list_outbox(gate.gateway, include_finished=True)).results
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
    async with gate_rig(tmp_path, gate="approval", attachment_dirs=[str(tmp_path / "files")]) as gate:
        meddled = await gate.meddle()
        asked = await gate.send(replace(MAIL, attachments=("plan.txt",)))
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            assert tampering.execute(*FIELDS[field]).rowcount == 1
        with pytest.raises(PostroomError, match=r"Not sent|approval"):
            await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        await worker.work_once(gate.gateway)
        assert meddled.submitted == []
        for account in ("bob", "carol"):
            assert await gate.inbox(account) == []


async def test_a_mail_that_some_have_got_is_tried_until_all_have_it(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = answering("retryable", accepted=("bob@demo.example",))
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        for _ in range(8):
            gate.time.pass_(4000)
            await worker.work_once(gate.gateway)
        row, _, _ = await outbox.show_send(gate.gateway, view.send_id)
        assert row.state == "retryable"
        meddled.before = lambda _: None
        gate.time.pass_(4000)
        await worker.work_once(gate.gateway)
        assert await gate.inbox("carol") == ["Lunch?"]


async def test_an_approved_mail_whose_key_went_to_another_mail_is_put_before_a_person(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send(idempotency_key="k")
        store = gate.gateway.store
        other = store.outbox.prepare((await gate.order(replace(MAIL, subject="Other"))).as_send())
        with store._database.transaction() as connection:  # as an older version could leave it
            connection.execute("UPDATE keys SET send_id = ?", (other.send_id,))
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "needs_human"
        assert await gate.inbox() == []
        shown = (await outbox.list_outbox(gate.gateway)).results
        (reason,) = [row.reason for row in shown if row.state == "needs_human"]
        assert "idempotency_key" in reason


@pytest.mark.parametrize("trouble", ["policy", "refusal"])
async def test_what_was_held_because_the_login_was_refused_is_put_before_a_person_when_it_cannot_leave(
    tmp_path, trouble
):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = raising(AuthRequired("535"))
        await gate.send()
        held = await gate.send(replace(MAIL, subject="Second"))
        assert held.status == "held"
        time = gate.time
    time.pass_(7 * 3600)
    async with gate_rig(
        tmp_path, time=time, block_recipients=["bob@demo.example"] if trouble == "policy" else []
    ) as gate:
        (await gate.meddle()).before = answering("rejected", reason="550")
        for _ in range(2):
            await worker.work_once(gate.gateway)
        assert gate.gateway.store.outbox.get(held.send_id).state == "needs_human"
        assert held.send_id in {row.send_id for row in (await outbox.list_outbox(gate.gateway)).results}
        assert gate.gateway.store.outbox.request(held.send_id).raw  # a person can still have it sent
