"""The last look before bytes leave: whatever does not fit stops there, told to whoever waits or put before a person."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.gate.rigs import MAIL, gate_rig
from tests.gate.test_native import native_rig, reply
from tests.gate.test_outcomes import FIELDS

from postroom.model.draft import Threading
from postroom.model.errors import AuthRequired, InternalError, PermissionDenied, ProviderUnavailable
from postroom.model.outcome import SubmitOutcome
from postroom.service.reading import search
from postroom.service.sending import order as orders
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.order import Wishes
from postroom.service.writing import draft as drafts
from postroom.store import State

SLIPS = {
    "a blind copy in the headers": lambda raw: b"Bcc: eve@evil.example\r\n" + raw,
    "a second recipient in the headers": lambda raw: raw.replace(b"To: ", b"To: eve@evil.example, ", 1),
    "another sender": lambda raw: raw.replace(b"From: alice@", b"From: mallory@", 1),
    "a header twice": lambda raw: b"Subject: other\r\n" + raw,
    "a NUL": lambda raw: raw.replace(b"Subject: ", b"Subject: \0", 1),
}


@pytest.mark.parametrize("slip", SLIPS)
async def test_a_slip_in_composing_is_noticed_before_anything_leaves(tmp_path, monkeypatch, slip):
    """The digest covers the slip as well, so only the bytes themselves can tell."""
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        real = orders.compose

        def slipping(*args: Any, **kwargs: Any) -> bytes:
            raw = real(*args, **kwargs)
            assert SLIPS[slip](raw) != raw
            return SLIPS[slip](raw)

        monkeypatch.setattr(orders, "compose", slipping)
        with pytest.raises(InternalError, match="differs from what was approved"):
            await gate.send()
        assert meddled.submitted == []
        assert (await outbox.list_outbox(gate.gateway)).results == ()


@pytest.mark.parametrize("wishes", [{}, {"idempotency_key": "k"}])
async def test_who_waits_is_told_the_reason_of_a_refusal_and_nothing_stays_behind(tmp_path, wishes):
    async with gate_rig(tmp_path, block_recipients=["bob@demo.example"]) as gate:
        with pytest.raises(PermissionDenied) as refusal:
            await gate.send(**wishes)
        assert refusal.value.message == "b***@demo.example is on the operator's block list (safety.block_recipients)."
        assert (refusal.value.reason, refusal.value.details) == ("policy_denied", {"by_person": False})
        assert (await outbox.list_outbox(gate.gateway, include_finished=True)).results == ()


async def test_who_approves_what_a_new_list_forbids_is_told_that_the_list_does(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
    async with gate_rig(tmp_path, gate="approval", block_recipients=["bob@demo.example"]) as gate:
        with pytest.raises(PermissionDenied, match="block list") as refusal:
            await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert refusal.value.reason == "policy_denied"
        assert gate.gateway.store.outbox.get(asked.send_id).state is State.NEEDS_HUMAN


async def test_a_held_mail_that_a_new_list_forbids_is_put_before_a_person_with_the_reason(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send()
        time = gate.time
    time.pass_(60)
    async with gate_rig(tmp_path, time=time, hold_seconds=60, block_recipients=["bob@demo.example"]) as gate:
        await worker.work_once(gate.gateway)
        row = gate.gateway.store.outbox.get(view.send_id)
        assert row.state is State.NEEDS_HUMAN
        assert "on the operator's block list" in row.outcome["reason"]
        assert gate.gateway.store.outbox.request(view.send_id).raw


AWAY, LOGGED_OUT, LOST = ProviderUnavailable("It is away."), AuthRequired("Log in."), ConnectionResetError()


@pytest.mark.parametrize(
    ("question", "error"),
    [
        *(("identities", AWAY), ("identities", LOGGED_OUT)),
        *(("recipients_of", AWAY), ("recipients_of", LOGGED_OUT), ("recipients_of", LOST)),
        *(("fetch", AWAY), ("fetch", LOST)),
    ],
)
async def test_who_waits_is_told_that_a_mail_waits_for_a_provider_that_cannot_be_asked_now(
    tmp_path, monkeypatch, question, error
):
    """An error would make them send it a second time, and both would leave."""
    async with native_rig(tmp_path) as (gate, acts, email_id):
        order = await reply(gate, email_id)
        asked = acts if question == "recipients_of" else acts.mailbox
        real = getattr(asked, question)
        monkeypatch.setattr(asked, question, _failing(error))
        view = await send.send(gate.gateway, order)
        assert (view.status, acts.submitted) == ("held", [])
        assert gate.gateway.store.outbox.get(view.send_id).outcome["reason"]
        assert (gate.gateway.store.pauses.of("alice") is not None) is isinstance(error, AuthRequired)
        monkeypatch.setattr(asked, question, real)
        gate.time.pass_(1000)
        await worker.work_once(gate.gateway)
        assert (gate.gateway.store.outbox.get(view.send_id).state, len(acts.submitted)) == (State.DONE, 1)


def _failing(error: Exception) -> Any:
    async def failing(*_: Any) -> Any:
        raise error

    return failing


async def test_a_mail_of_which_no_copy_is_wished_leaves_none_in_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        view = await gate.send(save_to_sent=False)
        assert (view.status, await gate.inbox()) == ("sent", ["Lunch?"])
        assert (await search.list_emails(gate.gateway, account="alice", mailbox="sent")).results == ()
        assert gate.gateway.store.outbox.get(view.send_id).save_to_sent is False


async def test_what_a_dead_process_was_sending_is_found_out_about_and_not_sent_again(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled, out = await gate.meddle(), gate.gateway.store.outbox
        row = out.reserve(out.prepare((await gate.order()).as_send()).send_id).send
        for state in (State.STAGED, State.SENDING):
            row = out.advance(row.send_id, expect=row.state, to=state)
        gate.gateway.abandoned.add(row.send_id)
        meddled.reconciled = lambda _: SubmitOutcome("accepted", accepted=("bob@demo.example",))
        await worker.work_once(gate.gateway)
        assert out.get(row.send_id).state is State.DONE
        assert State.UNKNOWN in {event.state for event in out.events(row.send_id)}
        assert meddled.submitted == []


@pytest.mark.parametrize("field", ["subject", "body", "thread", "draft", "identity", "recipient"])
async def test_whatever_is_changed_while_a_mail_is_held_keeps_it_from_leaving(tmp_path, field):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        meddled = await gate.meddle()
        view = await gate.send()
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            assert tampering.execute(*FIELDS[field]).rowcount == 1
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        row = gate.gateway.store.outbox.get(view.send_id)
        assert row.state is State.NEEDS_HUMAN
        assert "the message in the outbox is not what was approved" in row.outcome["reason"]
        assert meddled.submitted == []


async def test_the_outbox_keeps_all_that_an_order_says(tmp_path):
    async with gate_rig(tmp_path) as gate:
        at = datetime(2027, 2, 1, 9, 0, tzinfo=UTC)
        order = await gate.order(wishes=Wishes(save_to_sent=False, idempotency_key="k", send_at=at))
        draft = replace(order.draft, threading=Threading(thread_ref="t7"))
        kept = replace(order, draft=draft, draft_ref="d7").as_send()
        assert (kept.account, kept.tool, kept.kind) == ("alice", "send_email", "email_send")
        assert (kept.sender, kept.recipients) == ("alice@demo.example", ("bob@demo.example",))
        assert (kept.raw, kept.message_id, kept.content_sha256) == (order.raw, order.message_id, order.digest)
        assert (kept.thread_ref, kept.draft_ref) == ("t7", "d7")
        assert (kept.save_to_sent, kept.idempotency_key) == (False, "k")
        assert (kept.not_before, kept.send_at) == (at.timestamp(), "2027-02-01T09:00:00+00:00")


async def test_a_saved_draft_that_another_program_deletes_while_it_waits_is_a_persons_decision(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        order = await send.order_draft(gate.gateway, saved.draft_id, Wishes(confirm=True))
        held = await send.send(gate.gateway, order)
        account = await gate.gateway.accounts.open("alice")
        await account.drafts.delete_draft(order.draft_ref)
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert gate.gateway.store.outbox.get(held.send_id).state is State.NEEDS_HUMAN
        assert "Lunch?" not in await gate.inbox()
        gate.gateway.store.outbox.resolve(held.send_id, "resend")
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert (await gate.inbox()).count("Lunch?") == 1
