"""Mail that its provider submits from a place of its own: staged once, compared with what was approved, cleared up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.gate.rigs import MAIL, GateRig, gate_rig
from tests.gate.transports import Stages, staging

from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InternalError,
    InvalidRequest,
    ProviderUnavailable,
    RateLimited,
)
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals
from postroom.service.writing import draft as drafts
from postroom.store import Send, State

TWO_MINUTES = 120


def at(step: str, act: Callable[[], Any]) -> Callable[[str], None]:
    """The first time that step is taken."""
    left = [act]

    def taken(now: str) -> None:
        if now == step and left:
            left.pop()()

    return taken


def losing(step: str) -> Callable[[str], None]:
    return at(step, raising(ConnectionResetError("the answer never came")))


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


async def drafts_of(gate: GateRig) -> list[str]:
    return [row.subject for row in (await drafts.list_drafts(gate.gateway)).results]


def row(gate: GateRig, send_id: str) -> Send:
    return gate.gateway.store.outbox.get(send_id)


def only(gate: GateRig) -> Send:
    (found,) = gate.gateway.store.outbox.list().items
    return found


async def work_later(gate: GateRig, seconds: float = TWO_MINUTES) -> None:
    gate.time.pass_(seconds)
    await worker.work_once(gate.gateway)


async def test_a_mail_is_staged_and_its_ref_is_on_disk_before_it_is_submitted(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        seen: list[tuple[State, str]] = []
        stages.before = lambda step: (
            seen.append((only(gate).state, only(gate).staged_ref)) if step == "submit" else None
        )
        mail = replace(MAIL, cc=("carol@demo.example",), bcc=("alice@demo.example",))
        view = await gate.send(mail)
        assert (view.status, stages.steps) == ("sent", ["stage", "staged", "submit"])
        (request,) = stages.submitted
        assert request.staged_ref
        assert seen == [(State.SENDING, request.staged_ref)]
        for name in ("bob", "carol", "alice"):
            assert await gate.inbox(name) == ["Lunch?"]
        assert await drafts_of(gate) == []
        assert only(gate).staged_ref == "", "what has left is staged no more"


async def test_the_ref_of_what_is_staged_is_no_part_of_what_was_approved(tmp_path):
    """It is made afterwards; the draft that a person chose to send is another thing."""
    async with gate_rig(tmp_path, gate="approval") as gate:
        stages = await staging(gate)
        asked = await gate.send()
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert (view.status, stages.steps) == ("sent", ["stage", "staged", "submit"])
        assert row(gate, view.send_id).draft_ref == ""


@pytest.mark.parametrize("step", ["stage", "staged"])
async def test_an_answer_lost_while_staging_is_made_up_for_without_staging_twice(tmp_path, step):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.after = losing(step)
        view = await gate.send(idempotency_key="k")
        assert (view.status, await gate.inbox()) == ("held", [])
        await work_later(gate)
        assert row(gate, view.send_id).state is State.DONE
        assert (stages.steps.count("stage"), stages.reconciled) == (1, [])
        assert await gate.inbox() == ["Lunch?"]
        assert await drafts_of(gate) == []


@pytest.mark.parametrize("step", ["stage", "find_staged", "staged", "submit"])
async def test_every_answer_may_be_lost_one_after_the_other(tmp_path, step):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        lost = [losing("stage"), losing(step)]

        def after(now: str) -> None:
            for lose in lost:
                lose(now)

        stages.after = after
        view = await gate.send()
        for _ in range(3):
            await work_later(gate)
        assert row(gate, view.send_id).state is State.DONE
        assert await gate.inbox() == ["Lunch?"]
        assert await drafts_of(gate) == []
        assert len(stages.submitted) == 1


async def test_what_became_of_a_submission_is_found_out_by_the_staged_ref(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = losing("submit")
        view = await gate.send()
        (asked,) = stages.reconciled
        assert (asked.staged_ref, view.status) == (stages.submitted[0].staged_ref, "held")
        await work_later(gate)
        assert [request.staged_ref for request in stages.submitted] == [asked.staged_ref] * 2
        assert stages.steps.count("stage") == 1
        assert await gate.inbox() == ["Lunch?"]


async def test_a_process_that_dies_after_staging_leaves_the_draft_to_the_next_one(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        out = gate.gateway.store.outbox
        dead = out.reserve(out.prepare((await gate.order()).as_send()).send_id).send
        out.advance(dead.send_id, expect=State.RESERVED, to=State.STAGED)
        await stages.stage(out.request(dead.send_id))
        gate.gateway.abandoned.add(dead.send_id)
        await work_later(gate)
        assert out.get(dead.send_id).state is State.DONE
        assert stages.steps == ["stage", "find_staged", "staged", "submit"]
        assert await drafts_of(gate) == []


Change = Callable[[bytes], bytes]
CHANGES: dict[str, Change] = {
    "the recipients": lambda raw: raw.replace(b"To: bob@", b"To: carol@"),
    "one recipient more": lambda raw: raw.replace(b"To: bob@demo.example", b"To: bob@demo.example, carol@demo.example"),
    "a blind copy": lambda raw: b"Bcc: carol@demo.example\r\n" + raw,
    "the sender": lambda raw: raw.replace(b"From: alice@", b"From: mallory@"),
    "the Reply-To address": lambda raw: b"Reply-To: mallory@evil.example\r\n" + raw,
    "the subject": lambda raw: raw.replace(b"Lunch?", b"Dinner"),
    "the message it replies to": lambda raw: b"In-Reply-To: <other@x.example>\r\n" + raw,
    "the importance": lambda raw: b"Importance: high\r\n" + raw,
    "a receipt": lambda raw: b"Disposition-Notification-To: mallory@evil.example\r\n" + raw,
    "the text": lambda raw: raw.replace(b"noon", b"midnight"),
    "no words": lambda raw: raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n",
    "an HTML version": lambda raw: (
        b"Content-Type: text/html; charset=utf-8\r\n"
        + b"\r\n".join(line for line in raw.split(b"\r\n") if not line.lower().startswith(b"content-type"))
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("hold", [0, 60])
async def test_what_somebody_changed_where_it_was_staged_does_not_leave(tmp_path, change, hold):
    async with gate_rig(tmp_path, hold_seconds=hold) as gate:
        stages = await staging(gate)
        real = stages.staged

        async def tampered(request: Any) -> Any:
            stages.staged = real  # type: ignore[method-assign]
            raw = await stages.mailbox.fetch_raw(request.staged_ref)
            assert CHANGES[change](raw) != raw
            await stages.mailbox.update_draft(request.staged_ref, CHANGES[change](raw))
            return await real(request)

        stages.staged = tampered  # type: ignore[method-assign]
        if hold:
            await gate.send()
            await work_later(gate)
            assert only(gate).state is State.NEEDS_HUMAN
            assert "is not what was approved" in only(gate).outcome["reason"]
        else:
            with pytest.raises(InternalError, match="is not what was approved"):
                await gate.send()
            assert only(gate).state is State.CANCELLED
        await work_later(gate)
        assert stages.submitted == []
        assert only(gate).staged_ref == ""
        assert len(await drafts_of(gate)) == 1, "what somebody else wrote is not ours to delete"


async def test_a_provider_may_store_the_same_mail_in_its_own_way(tmp_path):
    """Another Message-ID, headers of its own, another encoding."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "plan.txt").write_text("plan")
    async with gate_rig(tmp_path, attachment_dirs=[str(tmp_path / "files")]) as gate:
        stages = await staging(gate)
        real = stages.stage

        async def in_its_own_way(request: Any) -> str:
            ref = await real(request)
            raw: bytes = await stages.mailbox.fetch_raw(ref)
            kept = b"\r\n".join(line for line in raw.split(b"\r\n") if not line.startswith((b"Message-ID", b"Date")))
            boundary = raw.partition(b'boundary="')[2].partition(b'"')[0]
            dressed = b"X-Provider: 7\r\nMessage-ID: <new@provider.example>\r\n" + kept.replace(boundary, b"theirs")
            await stages.mailbox.update_draft(ref, dressed)
            return ref

        stages.stage = in_its_own_way  # type: ignore[method-assign]
        mail = replace(MAIL, body_html="<p>Shall we say <b>noon</b>?</p>", attachments=("plan.txt",))
        assert (await gate.send(mail)).status == "sent"
        assert await gate.inbox() == ["Lunch?"]


async def test_what_is_gone_from_where_it_was_staged_is_not_staged_again_by_itself(tmp_path):
    """Somebody may have sent it by hand."""
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.after = losing("staged")
        view = await gate.send()
        await stages.mailbox.delete_draft(row(gate, view.send_id).staged_ref)
        await work_later(gate)
        stopped = row(gate, view.send_id)
        assert stopped.state is State.NEEDS_HUMAN
        assert "Check Sent" in stopped.outcome["reason"]
        assert (stages.submitted, stages.steps.count("stage")) == ([], 1)
        again = await approvals.resolve(gate.gateway, view.send_id, "resend")
        assert (again.status, stages.steps.count("stage")) == ("sent", 2)
        assert await gate.inbox() == ["Lunch?"]


async def parked(gate: GateRig, stages: Stages) -> Send:
    """A send that waits with what was staged for it."""
    stages.after = losing("staged")
    await gate.send(idempotency_key="k")
    stages.after = lambda _: None
    assert only(gate).staged_ref
    return only(gate)


async def test_what_is_staged_is_taken_away_when_the_send_is_cancelled(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        view = await outbox.cancel_send(gate.gateway, waiting.send_id)
        assert (view.status, view.warnings) == ("cancelled", ())
        assert await drafts_of(gate) == []
        assert "find_staged" not in stages.steps, "it is known by its ref"
        assert row(gate, waiting.send_id).staged_ref == ""


async def test_it_is_said_when_what_is_staged_could_not_be_taken_away_and_tried_again_later(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        stages.before = at("discard_staged", raising(ProviderUnavailable("It is away.")))
        view = await outbox.cancel_send(gate.gateway, waiting.send_id)
        assert view.status == "cancelled"
        assert ["could not be removed yet. It is away." in warning for warning in view.warnings] == [True]
        await work_later(gate, 3599)
        assert await drafts_of(gate) == ["Lunch?"], "not every second"
        await work_later(gate, 1)
        assert await drafts_of(gate) == []
        assert stages.submitted == []


async def test_what_a_dead_process_left_staged_for_a_cancelled_send_is_taken_away(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        waiting = await parked(gate, stages)
        gate.gateway.store.outbox.cancel(waiting.send_id)
        await work_later(gate)
        assert await drafts_of(gate) == []
        assert stages.steps.count("discard_staged") == 1
        await work_later(gate)
        assert stages.steps.count("discard_staged") == 1


async def test_a_draft_whose_ref_was_lost_is_found_and_taken_away_when_the_send_is_cancelled(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.after = losing("stage")
        view = await gate.send()
        assert (only(gate).staged_ref, await drafts_of(gate)) == ("", ["Lunch?"])
        await outbox.cancel_send(gate.gateway, view.send_id)
        assert await drafts_of(gate) == []


async def test_cancelling_what_was_never_staged_asks_the_provider_nothing(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        stages = await staging(gate)
        view = await outbox.cancel_send(gate.gateway, (await gate.send()).send_id)
        assert (stages.steps, view.warnings) == ([], ())


async def test_a_send_that_is_cancelled_while_it_is_staged_leaves_nothing_behind(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.after = at("stage", lambda: gate.gateway.store.outbox.cancel(only(gate).send_id))
        with pytest.raises(Conflict):
            await gate.send()
        assert stages.submitted == []
        assert await drafts_of(gate) == []


async def test_a_refused_mail_leaves_nothing_staged(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = at("submit", raising(InvalidRequest("550 no")))
        assert (await gate.send()).status == "rejected"
        assert await drafts_of(gate) == []


async def test_a_refused_mail_whose_draft_stays_says_so(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)

        def before(step: str) -> None:
            if step in ("submit", "discard_staged"):
                raise InvalidRequest("550 no")

        stages.before = before
        view = await gate.send()
        assert view.status == "rejected"
        assert "could not be removed yet" in view.warnings[-1]


async def test_a_person_who_drops_a_send_has_its_draft_taken_away(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=1) as gate:
        stages = await staging(gate)
        stages.before = at("submit", raising(InvalidRequest("550 no")))
        await gate.send()
        await work_later(gate)
        assert (only(gate).state, await drafts_of(gate)) == (State.NEEDS_HUMAN, ["Lunch?"])
        await approvals.resolve(gate.gateway, only(gate).send_id, "drop")
        assert await drafts_of(gate) == []


async def test_a_draft_of_the_persons_own_that_is_sent_as_it_stands_is_never_thrown_away(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        saved = await drafts.create_draft(gate.gateway, MAIL)

        async def in_place(request: Any) -> str:
            await stages.mailbox.update_draft(request.draft_ref, request.raw)
            return str(request.draft_ref)

        stages.stage = in_place  # type: ignore[method-assign]
        stages.before = at("submit", raising(InvalidRequest("550 no")))
        order = await send.order_draft(gate.gateway, saved.draft_id, replace((await gate.order()).wishes))
        assert (await send.send(gate.gateway, order)).status == "rejected"
        await work_later(gate)
        assert await drafts_of(gate) == ["Lunch?"]


async def test_the_draft_tools_keep_their_hands_off_what_is_staged(tmp_path):
    async with gate_rig(tmp_path) as gate:
        await parked(gate, await staging(gate))
        (shown,) = (await drafts.list_drafts(gate.gateway)).results
        with pytest.raises(Conflict, match="in the outbox"):
            await drafts.update_draft(gate.gateway, shown.draft_id, drafts.DraftChanges(body="midnight"))
        with pytest.raises(Conflict, match="in the outbox"):
            await drafts.delete_draft(gate.gateway, shown.draft_id)
        order = await send.order_draft(gate.gateway, shown.draft_id, (await gate.order()).wishes)
        with pytest.raises(Conflict, match="in the outbox"):
            await send.send(gate.gateway, order)


async def test_a_mail_that_the_provider_will_not_stage_is_refused_to_whoever_waits(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = at("stage", raising(InvalidRequest("It is too large.")))
        with pytest.raises(InvalidRequest, match="too large"):
            await gate.send(idempotency_key="k")
        assert only(gate).state is State.CANCELLED
        assert (await gate.send(idempotency_key="k")).status == "sent"


async def test_a_held_mail_that_the_provider_will_not_stage_is_put_before_a_person(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=1) as gate:
        stages = await staging(gate)
        stages.before = at("stage", raising(InvalidRequest("It is too large.")))
        await gate.send()
        await work_later(gate)
        assert only(gate).state is State.NEEDS_HUMAN


async def test_a_login_that_is_refused_when_staging_pauses_the_account(tmp_path):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)
        stages.before = at("stage", raising(AuthRequired("Log in again.")))
        assert (await gate.send()).status == "held"
        assert gate.gateway.store.pauses.of("alice") is not None
        await work_later(gate, 1000)
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize(
    "trouble",
    [ProviderUnavailable("It is away."), RateLimited("It is away.", retry_after=7200), AuthRequired("It is away.")],
)
async def test_a_provider_that_is_away_for_days_when_it_should_stage_is_put_before_a_person(tmp_path, trouble):
    async with gate_rig(tmp_path) as gate:
        stages = await staging(gate)

        def before(_: str) -> None:
            raise trouble

        stages.before = before
        view = await gate.send()
        await work_later(gate, 4 * 86_400)
        assert row(gate, view.send_id).state is State.STAGED
        await work_later(gate, 2 * 86_400)
        stopped = row(gate, view.send_id)
        assert (stopped.state, stopped.outcome["reason"]) == (State.NEEDS_HUMAN, "It is away.")


async def test_a_person_who_drops_a_send_is_told_when_its_draft_stays(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=1) as gate:
        stages = await staging(gate)
        stages.before = at("submit", raising(InvalidRequest("550 no")))
        await gate.send()
        await work_later(gate)
        stages.before = at("discard_staged", raising(ProviderUnavailable("It is away.")))
        view = await approvals.resolve(gate.gateway, only(gate).send_id, "drop")
        assert ["could not be removed yet. It is away." in warning for warning in view.warnings] == [True]
