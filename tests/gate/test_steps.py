"""The ten steps, one by one, on a real local mailbox."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.gate.rigs import CONFIRMED, MAIL, gate_rig

from postroom.model.errors import Conflict, InvalidRequest, PermissionDenied, RateLimited
from postroom.service.reading import search
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.order import Wishes
from postroom.service.writing import composing, draft
from postroom.settings import build
from postroom.wiring import open_gateway


async def test_a_confirmed_mail_arrives_and_stands_in_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        view = await gate.send()
        assert view.status == "sent"
        assert view.accepted == ("bob@demo.example",)
        assert view.message_id.endswith("@demo.example>")
        assert await gate.inbox() == ["Lunch?"]
        assert (await outbox.list_outbox(gate.gateway, include_finished=True)).results[0].state == "done"


async def test_without_confirm_there_is_a_preview_and_nothing_leaves(tmp_path):
    async with gate_rig(tmp_path) as gate:
        request = replace(MAIL, cc=("carol@demo.example",), bcc=("alice@demo.example",), body="x" * 3000)
        view = await gate.send(request, confirm=False)
        assert view.status == "preview"
        assert view.preview.to == ("bob@demo.example",)
        assert view.preview.cc == ("carol@demo.example",)
        assert view.preview.bcc == ("alice@demo.example",)
        assert view.preview.subject == "Lunch?"
        assert len(view.preview.body_excerpt) + len(view.preview.body_ending) == 2000
        assert view.preview.body_chars == 3000
        assert await gate.inbox() == []
        assert (await outbox.list_outbox(gate.gateway, include_finished=True)).total_count == 0


async def test_dev_mode_logs_and_sends_nothing(tmp_path):
    async with gate_rig(tmp_path, dev_mode=True) as gate:
        view = await gate.send()
        assert view.status == "dev_mode"
        assert view.message == "[DEV_MODE] Send logged but not executed. To: b***@demo.example, Subject: Lunch?"
        assert await gate.inbox() == []
        assert gate.audit()[0]["result"] == "dev_mode"


async def test_policy_refuses_blocked_and_unlisted_recipients(tmp_path):
    async with gate_rig(tmp_path, block_recipients=["*@Stra\u00dfe.example"]) as gate:
        with pytest.raises(PermissionDenied):
            await gate.send(replace(MAIL, to=("eve@stra\u00dfe.example",)))
    async with gate_rig(tmp_path, block_recipients=["*@evil.example"]) as gate:
        with pytest.raises(PermissionDenied):
            await gate.send(replace(MAIL, bcc=("eve@evil.example",)))
        assert await gate.inbox() == []
    async with gate_rig(tmp_path, allow_recipients=["carol@demo.example"]) as gate:
        with pytest.raises(PermissionDenied):
            await gate.send()
        assert gate.audit()[0]["result"] == "rejected"


async def test_the_same_key_sends_once_and_answers_with_the_first_result(tmp_path):
    async with gate_rig(tmp_path) as gate:
        first = await gate.send(idempotency_key="k1")
        again = await gate.send(idempotency_key="k1")
        assert (first.status, again.status) == ("sent", "already_executed")
        assert again.send_id == first.send_id
        assert await gate.inbox() == ["Lunch?"]
        with pytest.raises(Conflict):
            await gate.send(replace(MAIL, subject="Other"), idempotency_key="k1")
        assert (await gate.send(idempotency_key="k2")).status == "sent"
        assert len(await gate.inbox()) == 2


@pytest.mark.parametrize(("key_seconds", "status"), [(600.0, "sent"), (None, "already_executed")])
async def test_a_dialect_may_have_keys_forgotten_sooner(tmp_path, key_seconds, status):
    async with gate_rig(tmp_path) as gate:
        await gate.send(idempotency_key="k1", key_seconds=key_seconds)
        gate.time.pass_(601)
        assert (await gate.send(idempotency_key="k1", key_seconds=key_seconds)).status == status


async def test_a_key_survives_a_restart_and_is_not_shared_between_tools_and_accounts(tmp_path):
    async with gate_rig(tmp_path) as gate:
        await gate.send(idempotency_key="k1")
    async with gate_rig(tmp_path) as gate:
        assert (await gate.send(idempotency_key="k1")).status == "already_executed"
        order = await send.order_mail(gate.gateway, MAIL, Wishes(confirm=True, idempotency_key="k1"), "carol")
        assert (await send.send(gate.gateway, order)).status == "sent"


async def test_a_key_counts_only_for_confirmed_calls(tmp_path):
    async with gate_rig(tmp_path) as gate:
        await gate.send(idempotency_key="k1")
        assert (await gate.send(idempotency_key="k1", confirm=False)).status == "preview"


async def test_fifty_parallel_calls_with_one_key_give_one_send(tmp_path):
    import anyio

    async with gate_rig(tmp_path) as gate:
        statuses: list[str] = []

        async def one() -> None:
            statuses.append((await gate.send(idempotency_key="k1")).status)

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(one)
        assert sorted(statuses) == ["already_executed"] * 49 + ["sent"]
        assert await gate.inbox() == ["Lunch?"]


async def test_a_repeat_within_two_minutes_warns_and_sends_all_the_same(tmp_path):
    async with gate_rig(tmp_path) as gate:
        assert (await gate.send()).warnings == ("Never written to before: bob@demo.example.",)
        again = await gate.send()
        assert again.status == "sent"
        assert any("just sent" in warning for warning in again.warnings)
        gate.time.pass_(121)
        assert (await gate.send()).warnings == ()


async def test_the_eleventh_send_of_an_hour_is_refused_and_says_when(tmp_path):
    async with gate_rig(tmp_path) as gate:
        for number in range(10):
            await gate.send(replace(MAIL, subject=f"n{number}"))
        with pytest.raises(RateLimited, match="10 emails/hour") as limited:
            await gate.send(replace(MAIL, subject="n10"))
        assert 0 < limited.value.retry_after <= 3601
        assert len(await gate.inbox()) == 10
        assert gate.audit()[0]["result"] == "rate_limited"
        gate.time.pass_(3601)
        assert (await gate.send(replace(MAIL, subject="n10"))).status == "sent"


async def test_a_refused_recipient_is_reported_and_nothing_left(tmp_path):
    async with gate_rig(tmp_path) as gate:
        view = await gate.send(replace(MAIL, cc=("nobody@elsewhere.example",)))
        assert view.status == "rejected"
        assert set(view.refused) == {"nobody@elsewhere.example"}
        assert await gate.inbox() == []


async def test_a_blind_copy_arrives_and_is_in_nobodys_headers(tmp_path):
    from postroom.service.reading import read, search

    async with gate_rig(tmp_path) as gate:
        await gate.send(replace(MAIL, bcc=("carol@demo.example",)))
        for account in ("bob", "carol"):
            (row,) = (await search.list_emails(gate.gateway, account=account)).results
            raw = await read.raw_email(gate.gateway, row.email_id)
            assert b"carol" not in raw


async def test_reply_and_forward_show_the_original_and_keep_the_thread(tmp_path):
    from postroom.service.reading import read, search

    async with gate_rig(tmp_path) as gate:
        await gate.send()
        (row,) = (await search.list_emails(gate.gateway, account="bob")).results
        request = composing.ReplyRequest("Yes!")
        preview = await send.send(gate.gateway, await send.order_reply(gate.gateway, row.email_id, request, Wishes()))
        assert preview.preview.original_subject == "Lunch?"
        assert "alice@demo.example" in preview.preview.original_sender
        order = await send.order_reply(gate.gateway, row.email_id, request, CONFIRMED)
        assert (await send.send(gate.gateway, order)).status == "sent"
        thread = await read.get_thread(gate.gateway, row.email_id)
        assert [email.row.subject for email in thread.emails] == ["Lunch?", "Re: Lunch?"]

        forward = composing.ForwardRequest(("carol@demo.example",), comment="fyi")
        shown = await send.send(gate.gateway, await send.order_forward(gate.gateway, row.email_id, forward, Wishes()))
        assert any("original" in file for file in shown.preview.attachments)
        order = await send.order_forward(gate.gateway, row.email_id, forward, CONFIRMED)
        assert (await send.send(gate.gateway, order)).status == "sent"
        assert await gate.inbox("carol") == ["Fwd: Lunch?"]


async def test_a_forwarded_mail_of_ones_own_names_no_blind_copies(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved = await draft.create_draft(gate.gateway, replace(MAIL, bcc=("carol@demo.example",)))
        request = composing.ForwardRequest(to=("bob@demo.example",), comment="See below")
        order = await send.order_forward(gate.gateway, saved.email_id, request, CONFIRMED)
        assert b"Shall we say noon?" in order.raw
        assert b"carol" not in order.raw


async def test_a_draft_is_sent_as_it_stands_and_is_gone_afterwards(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved = await draft.create_draft(gate.gateway, replace(MAIL, bcc=("carol@demo.example",)))
        order = await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)
        assert (await send.send(gate.gateway, order)).status == "sent"
        assert await gate.inbox("bob") == ["Lunch?"]
        assert await gate.inbox("carol") == ["Lunch?"]
        assert (await draft.list_drafts(gate.gateway)).results == ()


async def test_hold_and_schedule_wait_and_can_be_cancelled(tmp_path):
    from datetime import timedelta

    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        held = await gate.send()
        assert held.status == "held"
        later = await gate.send(replace(MAIL, subject="Later"), send_at=gate.gateway.now() + timedelta(hours=2))
        assert later.status == "scheduled"
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        gate.time.pass_(31)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]
        assert (await outbox.cancel_send(gate.gateway, later.send_id)).status == "cancelled"
        assert (gate.audit()[0]["action_type"], gate.audit()[0]["target"]) == ("cancel_send", "b***@demo.example")
        gate.time.pass_(7200)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]
        with pytest.raises(Conflict):
            await outbox.cancel_send(gate.gateway, held.send_id)


@pytest.mark.parametrize("days", [-1, 400])
async def test_a_schedule_in_the_past_or_far_away_is_refused(tmp_path, days):
    from datetime import timedelta

    async with gate_rig(tmp_path) as gate:
        with pytest.raises(InvalidRequest):
            await gate.send(send_at=gate.gateway.now() + timedelta(days=days))
        with pytest.raises(InvalidRequest):
            await gate.send(send_at=gate.gateway.now().replace(tzinfo=None))


async def test_what_leaves_later_is_said_to_be_held_or_scheduled_as_it_was_asked_for(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=600) as gate:
        assert (await gate.send()).status == "held"
        soon = gate.gateway.now() + timedelta(seconds=700)
        assert (await gate.send(replace(MAIL, subject="Later"), send_at=soon)).status == "scheduled"
    async with gate_rig(tmp_path) as gate:
        soon = gate.gateway.now() + timedelta(seconds=120)
        assert (await gate.send(replace(MAIL, subject="Soon"), send_at=soon)).status == "scheduled"


async def test_held_mail_stays_while_dev_mode_or_read_only_is_on_and_obeys_a_new_block_list(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        view = await gate.send()
        time = gate.time
    time.pass_(60)
    for settings in ({"dev_mode": True}, {"read_only": True}):
        async with gate_rig(tmp_path, time=time, **settings) as gate:
            await worker.work_once(gate.gateway)
            assert await gate.inbox() == []
        time.pass_(600)
    async with gate_rig(tmp_path, time=time, block_recipients=["bob@demo.example"]) as gate:
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.send_id, row.state) == (view.send_id, "needs_human")
        assert "block list" in row.reason
    async with gate_rig(tmp_path, time=time) as gate:
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []  # it stands before a person, whatever the list says now
        assert (await approvals.resolve(gate.gateway, view.send_id, "resend")).status == "sent"
        assert await gate.inbox() == ["Lunch?"]


async def test_scheduled_mail_leaves_in_no_name_that_the_account_has_given_up(tmp_path):
    async with gate_rig(tmp_path) as gate:
        view = await gate.send(send_at=gate.gateway.now() + timedelta(hours=1))
        time = gate.time
    time.pass_(2 * 3600)
    renamed = {"name": "alice", "provider": "local", "address": "alice@new.example", "path": "alice.db"}
    bob = {"name": "bob", "provider": "local", "address": "bob@demo.example", "path": "bob.db"}
    settings = build({"accounts": [renamed, bob], "safety": {"gate": "confirm"}}, home=tmp_path)
    async with open_gateway(settings, clock=time.clock()) as gateway:
        await worker.work_once(gateway)
        (row,) = (await outbox.list_outbox(gateway)).results
        assert (row.send_id, row.state) == (view.send_id, "needs_human")
        assert "identities" in row.reason
        assert (await search.list_emails(gateway, account="bob")).results == ()


async def test_a_mailbox_that_was_not_opened_yet_is_not_attached(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "carol.db").write_bytes(b"as an earlier process left it")
    async with gate_rig(home, attachment_dirs=[str(home)]) as gate:
        with pytest.raises(PermissionDenied, match="own database files"):
            await gate.order(replace(MAIL, attachments=("carol.db",)))
