"""The steps of the gate once more, for what a person is asked and what an answer leaves behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.gate.rigs import MAIL, GateRig, gate_rig, vars_of

from postroom.model.draft import File
from postroom.model.errors import Conflict, InvalidRequest, PermissionDenied, RateLimited, Unsupported
from postroom.service.sending import outbox, send
from postroom.service.sending.order import Answered, LookedUp, Wishes
from postroom.service.writing import draft as drafts
from postroom.store import State

ASKABLE = Wishes(confirm=True, can_elicit=True)


def rows(gate: GateRig) -> list[State]:
    return [row.state for row in gate.gateway.store.outbox.list().items]


async def test_nobody_is_asked_about_a_time_that_has_passed(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        past = replace(ASKABLE, send_at=gate.gateway.now() - timedelta(seconds=1))
        with pytest.raises(InvalidRequest, match="future"):
            await send.question(gate.gateway, await gate.order(wishes=past))
        assert rows(gate) == []


@pytest.mark.parametrize("wrong", [{"subject": " "}, {"files": (File("a", "text/plain", b"x" * (26 * 2**20)),)}])
async def test_nobody_is_asked_about_a_mail_that_could_not_be_sent(tmp_path, wrong):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        order = await gate.order(wishes=ASKABLE)
        bad = replace(order, draft=replace(order.draft, **wrong))
        with pytest.raises(InvalidRequest):
            await send.question(gate.gateway, bad)
        with pytest.raises(InvalidRequest):
            await send.send(gate.gateway, bad)
        assert rows(gate) == []


@pytest.mark.parametrize("way", ["confirm", "preview", "approval", "elicit"])
async def test_nobody_is_asked_about_a_mail_of_an_account_that_cannot_send(tmp_path, way):
    async with gate_rig(tmp_path, gate=way) as gate:
        order = await gate.order(wishes=ASKABLE)
        order.account.capabilities = replace(order.account.capabilities, can_send=False)
        for attempt in (send.question, send.send) if way == "elicit" else (send.send,):
            with pytest.raises(Unsupported, match="does not support sending"):
                await attempt(gate.gateway, order)
        assert rows(gate) == []


async def test_what_was_sent_before_the_account_could_not_send_any_more_is_still_told(tmp_path):
    async with gate_rig(tmp_path, gate="confirm") as gate:
        sent = await gate.send(idempotency_key="once")
        order = await gate.order(wishes=replace(ASKABLE, idempotency_key="once"))
        order.account.capabilities = replace(order.account.capabilities, can_send=False)
        assert (await send.send(gate.gateway, order)).send_id == sent.send_id


async def test_nobody_is_asked_in_a_full_hour_or_in_dev_mode(tmp_path):
    async with gate_rig(tmp_path, gate="elicit", sends_per_hour=1) as gate:
        await gate.send(**vars_of(await gate.asked()))
        with pytest.raises(RateLimited):
            await send.question(gate.gateway, await gate.order(replace(MAIL, subject="Second"), ASKABLE))
        assert rows(gate) == [State.DONE]
    async with gate_rig(tmp_path / "dev", gate="elicit", dev_mode=True) as gate:
        assert await send.question(gate.gateway, await gate.order(wishes=ASKABLE)) is None


async def test_an_answer_about_a_mail_that_has_changed_leaves_no_question_behind(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        answered = await gate.asked()
        with pytest.raises(Conflict, match="was changed while the person was being asked"):
            await gate.send(replace(MAIL, subject="Other"), **vars_of(answered))
        assert rows(gate) == [State.CANCELLED]


@pytest.mark.parametrize("verdict", ["declined", "dismissed"])
async def test_a_late_no_does_not_touch_what_has_left(tmp_path, verdict):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        answered = await gate.asked()
        view = await gate.send(**vars_of(answered))
        assert view.status == "sent"
        late = replace(answered, answer=Answered(verdict, view.send_id))
        with pytest.raises(PermissionDenied) as refusal:
            await gate.send(**vars_of(late))
        assert refusal.value.details == {"by_person": verdict == "declined"}
        assert rows(gate) == [State.DONE]


async def test_a_yes_that_was_used_is_shown_the_mail_again_and_sends_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        answered = await gate.asked()
        await gate.send(**vars_of(answered))
        again = await gate.send(**vars_of(answered))
        assert (again.status, again.account) == ("preview", "alice")
        assert "exactly this message has been sent before" in again.message
        assert await gate.inbox() == ["Lunch?"]


async def test_dev_mode_says_to_whom_it_would_have_gone_and_names_nobody_whole(tmp_path):
    async with gate_rig(tmp_path, dev_mode=True) as gate:
        to = tuple(f"{letter}ob@demo.example" for letter in "bcdefg")
        view = await gate.send(replace(MAIL, to=to))
        masked = ", ".join(f"{letter}***@demo.example" for letter in "bcdef")
        assert (view.status, view.account) == ("dev_mode", "alice")
        assert view.message == f"[DEV_MODE] Send logged but not executed. To: {masked}, Subject: Lunch?"


async def test_what_is_sent_with_a_warning_says_it_in_the_receipt_too(tmp_path):
    async with gate_rig(tmp_path) as gate:
        await gate.send()
        again = await gate.send()
        assert again.warnings == ("A message with the same recipients, subject and opening was just sent.",)
        shown = await gate.send(confirm=False)
        assert shown.warnings == again.warnings


async def test_a_draft_on_its_way_is_refused_with_the_send_it_went_into(tmp_path):
    from tests.gate.test_schedules import scheduled_draft

    async with gate_rig(tmp_path) as gate:
        saved, view = await scheduled_draft(gate)
        with pytest.raises(Conflict, match="already in the outbox") as refusal:
            await send.send(gate.gateway, await send.order_draft(gate.gateway, saved.draft_id, Wishes(confirm=True)))
        assert refusal.value.reason == "draft_on_its_way"
        assert refusal.value.details == {"send_id": view.send_id, "state": "held"}


async def test_a_repeated_call_to_somebody_who_is_blocked_by_now_is_refused_and_not_answered(tmp_path):
    async with gate_rig(tmp_path) as gate:
        assert (await gate.send(idempotency_key="k")).status == "sent"
        time = gate.time
    async with gate_rig(tmp_path, time=time, block_recipients=["bob@demo.example"]) as gate:
        with pytest.raises(PermissionDenied, match="block list"):
            await gate.send(idempotency_key="k")


@pytest.mark.parametrize("key", ["k" * 201, "k\nk"])
async def test_a_key_that_is_too_long_or_not_printable_is_refused(tmp_path, key):
    async with gate_rig(tmp_path) as gate:
        with pytest.raises(InvalidRequest, match="idempotency_key must be at most 200 printable characters"):
            await gate.send(idempotency_key=key)
        assert (await gate.send(idempotency_key=key[:1] * 200)).status == "sent"


async def test_the_audit_of_a_cancellation_names_all_whom_it_was_for(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        await outbox.cancel_send(gate.gateway, view.send_id)
        (cancelled, sent) = gate.audit()
        assert cancelled["action_type"] == "cancel_send"
        assert cancelled["target"] == sent["target"] == "b***@demo.example, c***@demo.example"


async def test_a_saved_draft_that_answers_nothing_is_a_message_of_its_own(tmp_path):
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        assert (await send.order_draft(gate.gateway, saved.draft_id, Wishes())).kind == "email_send"


@pytest.mark.parametrize("wishes", [Wishes(confirm=True), Wishes(can_elicit=True), Wishes()])
async def test_where_nothing_can_be_asked_yet_nobody_is_looked_up_for_the_question(tmp_path, wishes):
    async with gate_rig(tmp_path, gate="auto") as gate:
        order = await gate.order(wishes=wishes)
        assert await send.question(gate.gateway, order) is None
        assert order.looked_up == LookedUp()
