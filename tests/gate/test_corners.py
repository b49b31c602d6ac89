"""Corners of the gate that only a race, a broken vault or a stubborn caller reaches."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.gate.rigs import MAIL, gate_rig, vars_of
from tests.gate.test_gates import approve_by_hand
from tests.gate.test_handwritten import TEXT, is_mail_refused, write

from postroom.model.errors import (
    Conflict,
    InternalError,
    NotFound,
    PermissionDenied,
    ProviderUnavailable,
    RateLimited,
)
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals, requests
from postroom.service.sending.order import Answered, Wishes
from postroom.store import State, open_store
from postroom.store.vault import folder as vault_folder

ASKABLE = Wishes(confirm=True, can_elicit=True)


async def nobody(*_: Any) -> None:
    """Stands in for a look that came a moment too early to see the other process."""


# --- two processes in the same moment


async def test_a_key_that_another_process_takes_between_look_and_reservation_is_answered_with_its_send(
    tmp_path, monkeypatch
):
    async with gate_rig(tmp_path) as gate:
        first = await gate.send(idempotency_key="k")
        monkeypatch.setattr(gate.gateway.store.keys, "look_up", lambda *_: None)
        again = await gate.send(idempotency_key="k")
        assert (again.status, again.send_id) == ("already_executed", first.send_id)
        assert await gate.inbox() == ["Lunch?"]


async def test_a_person_is_asked_once_about_one_key(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval") as gate:
        first = await gate.send(idempotency_key="k")
        with pytest.raises(Conflict, match="different email"):
            await gate.send(replace(MAIL, subject="Other"), idempotency_key="k")
        monkeypatch.setattr(requests, "standing", nobody)  # two calls in one moment
        with pytest.raises(Conflict, match="already in progress"):
            await gate.send(idempotency_key="k")
        assert len(await approvals.list_waiting(gate.gateway)) == 1
        await approvals.approve(gate.gateway, first.approval.approval_id, who="ada", how="test")
        assert (await gate.send(idempotency_key="k")).status == "already_executed"
        assert await gate.inbox() == ["Lunch?"]


async def test_a_person_s_no_is_the_answer_to_every_repeat_with_that_key(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send(idempotency_key="k")
        await approvals.reject(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        again = await gate.send(idempotency_key="k")
        assert (again.status, again.send_id) == ("rejected", asked.send_id)
        assert "refused" in again.message
        assert await approvals.list_waiting(gate.gateway) == ()


async def test_an_approval_that_a_running_server_takes_up_at_once_is_left_to_it(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        server = open_store(tmp_path / "state.db", clock=gate.time.clock())
        approve = gate.gateway.store.approvals.approve

        def taken_up(*args: Any, **kwargs: Any) -> Any:
            approval = approve(*args, **kwargs)
            assert len(server.worklist.due()) == 1
            return approval

        monkeypatch.setattr(gate.gateway.store.approvals, "approve", taken_up)
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "held"
        assert await gate.inbox() == []
        server.close()  # it dies, and what it held is taken up by whoever is left
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


async def test_a_send_that_somebody_else_stops_while_it_is_refused_stays_theirs(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:

        def stopped(send_id: str, **_: Any) -> Any:
            gate.gateway.store.outbox.cancel(send_id)
            raise RateLimited("full", retry_after=60)

        monkeypatch.setattr(gate.gateway.store.outbox, "reserve", stopped)
        with pytest.raises(RateLimited):
            await gate.send()
        assert (await outbox.list_outbox(gate.gateway)).results == ()


# --- the rate window fills meanwhile


async def test_an_approval_in_a_full_hour_waits_for_room_and_then_leaves_by_itself(tmp_path):
    async with gate_rig(tmp_path, sends_per_hour=1) as gate:
        await gate.send(replace(MAIL, subject="First"))
        asked = await gate.send(require_approval=True)
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "held"
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["First"]
        gate.time.pass_(3602)
        await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["First", "Lunch?"]


async def test_a_scheduled_mail_whose_hour_is_full_by_then_waits(tmp_path):
    async with gate_rig(tmp_path, sends_per_hour=1) as gate:
        await gate.send(send_at=gate.gateway.now() + timedelta(hours=2))
        gate.time.pass_(3700)
        await gate.send(replace(MAIL, subject="Urgent"))
        gate.time.pass_(3500)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Urgent"]
        gate.time.pass_(200)
        await worker.work_once(gate.gateway)
        assert sorted(await gate.inbox()) == ["Lunch?", "Urgent"]


async def test_a_hand_written_approval_goes_back_where_the_hour_fills_in_the_same_moment(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault", sends_per_hour=1) as gate:
        path = write(gate)
        real = gate.gateway.store.outbox.reserve

        def full(send_id: str, **_: Any) -> Any:
            monkeypatch.setattr(gate.gateway.store.outbox, "reserve", real)
            raise RateLimited("full", retry_after=60)

        monkeypatch.setattr(gate.gateway.store.outbox, "reserve", full)
        with pytest.raises(RateLimited):
            await gate.send()
        assert path.exists()
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        assert (await gate.send()).status == "sent"


# --- a vault that does not play along


async def test_an_approval_that_cannot_be_written_down_is_an_error_and_nothing_waits(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        gate.gateway.vault.root.mkdir()
        (gate.gateway.vault.root / "Pending_Approval").write_text("in the way")
        with pytest.raises(InternalError, match="vault"):
            await gate.send()
        assert (await outbox.list_outbox(gate.gateway)).results == ()
        (gate.gateway.vault.root / "Pending_Approval").unlink()
        assert (await gate.send()).status == "needs_approval"


async def test_a_sent_mail_is_done_even_if_its_file_cannot_be_put_away(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        done = gate.gateway.vault.root / "Done"
        done.rmdir()
        done.write_text("in the way")
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "sent"
        assert gate.gateway.store.outbox.get(view.send_id).state is State.DONE


async def test_a_rejection_counts_even_if_its_file_cannot_be_put_away(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        (gate.gateway.vault.root / "Rejected").rmdir()
        (gate.gateway.vault.root / "Rejected").write_text("in the way")
        view = await approvals.reject(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "rejected"
        assert await approvals.list_waiting(gate.gateway) == ()


async def test_a_file_that_vanishes_while_the_vault_is_read_is_passed_over(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval") as gate:
        await gate.send()
        path = approve_by_hand(gate)
        names = vault_folder._names

        def vanishing(folder: int | Path) -> list[str]:
            listed = names(folder)
            path.unlink(missing_ok=True)
            return listed

        monkeypatch.setattr(vault_folder, "_names", vanishing)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []


async def test_a_waiting_mail_whose_file_is_gone_is_asked_about_anew(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        first = await gate.send()
        (path,) = (gate.gateway.vault.root / "Pending_Approval").iterdir()
        path.unlink()
        assert (await gate.send()).send_id == first.send_id  # it may be on its way to the disk
        with pytest.raises(NotFound):
            await approvals.show(gate.gateway, first.approval.approval_id)
        gate.time.pass_(61)
        second = await gate.send()
        assert second.send_id != first.send_id
        assert (await gate.send()).send_id == second.send_id
        approve_by_hand(gate)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


async def test_files_that_lead_to_nothing_are_told_with_the_reason(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        await gate.send()
        changed = approve_by_hand(gate, edit=lambda text: text.replace("pending", "approved").replace("noon", "dusk"))
        write(gate, TEXT, "by hand.md")
        write(gate, "no front matter", "broken.md")
        told = dict(await approvals.unheeded(gate.gateway))
        assert set(told) == {changed.name, "broken.md"}
        changed.write_text(changed.read_text().replace("dusk", "noon"))
        assert set(dict(await approvals.unheeded(gate.gateway))) == {"broken.md"}


async def test_a_hand_written_approval_that_another_process_took_releases_nothing_here(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        monkeypatch.setattr(gate.gateway.vault, "claim", lambda *_: None)
        assert await is_mail_refused(gate)
        assert await gate.inbox() == []


async def test_a_hand_written_approval_goes_back_when_it_could_not_be_used(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)

        def locked(*_: Any, **__: Any) -> Any:
            raise ProviderUnavailable("locked")

        monkeypatch.setattr(gate.gateway.store.outbox, "reserve", locked)
        with pytest.raises(ProviderUnavailable):
            await gate.send()
        assert path.exists()
        assert await gate.inbox() == []


@pytest.mark.parametrize(
    ("expires", "is_sent"),
    [
        ("2999-01-01T00:00:00+00:00", True),
        ("2999-01-01", True),
        ("2001-01-01", False),
        ("2027-01-15T09:59:00+02:00", False),  # a minute ago, told in another zone
        ("never", False),
    ],
)
async def test_the_end_of_a_hand_written_approval_is_a_moment_not_a_text(tmp_path, expires, is_sent):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, TEXT.replace("---\nGo", f"expires: {expires}\n---\nGo"))
        assert ((await gate.send()).status == "sent") if is_sent else await is_mail_refused(gate)


# --- questions


async def test_nothing_is_asked_where_nothing_needs_asking(tmp_path):
    async with gate_rig(tmp_path, gate="elicit", block_recipients=["carol@demo.example"]) as gate:
        assert await send.question(gate.gateway, await gate.order()) is None  # nobody there to ask
        assert await send.question(gate.gateway, await gate.order(wishes=replace(ASKABLE, confirm=False))) is None
        blocked = await gate.order(replace(MAIL, to=("carol@demo.example",)), ASKABLE)
        assert await send.question(gate.gateway, blocked) is None
        held = replace(ASKABLE, idempotency_key="k")
        await send.send(gate.gateway, await gate.order(wishes=await gate.asked(idempotency_key="k")))
        assert await send.question(gate.gateway, await gate.order(wishes=held)) is None  # it went out already
    async with gate_rig(tmp_path / "dev", gate="elicit", dev_mode=True) as gate:
        assert await send.question(gate.gateway, await gate.order(wishes=ASKABLE)) is None


@pytest.mark.parametrize("verdict", ["accepted", "declined"])
async def test_an_answer_to_a_question_that_was_never_asked_sends_nothing(tmp_path, verdict):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        with pytest.raises(NotFound):
            await gate.send(can_elicit=True, answer=Answered(verdict, "s0123456789"))
        assert await gate.inbox() == []
        assert (await outbox.list_outbox(gate.gateway, include_finished=True)).results == ()


async def test_a_no_says_that_a_person_declined_and_leaves_nothing_behind(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        wishes = await gate.asked()
        with pytest.raises(PermissionDenied) as refusal:
            await gate.send(can_elicit=True, answer=Answered("declined", wishes.answer.send_id))
        assert refusal.value.details == {"by_person": True}
        assert (await outbox.list_outbox(gate.gateway)).results == ()
        assert (await gate.send(**vars_of(wishes))).status == "preview"  # a yes that comes after the no
        assert await gate.inbox() == []


# --- the worker


async def test_the_worker_outlives_whatever_one_round_runs_into(tmp_path, monkeypatch):
    async with gate_rig(tmp_path) as gate:
        troubles = iter([ProviderUnavailable("locked"), OSError("a bad sector"), Conflict("taken")])
        rounds = 0

        async def troubled(_: Any) -> int:
            nonlocal rounds
            rounds += 1
            for trouble in troubles:
                raise trouble
            scope.cancel()
            return 0

        monkeypatch.setattr(worker, "work_once", troubled)
        with anyio.CancelScope() as scope:
            await worker.run(gate.gateway, pause=0)
        assert rounds == 4


# --- the audit


async def test_what_leaves_by_itself_and_what_a_person_decides_is_audited_too(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        yes = await gate.send()
        await approvals.approve(gate.gateway, yes.approval.approval_id, who="ada", how="command line")
        no = await gate.send(replace(MAIL, subject="Second"))
        await approvals.reject(gate.gateway, no.approval.approval_id, who="ada", how="command line")
        told = [(entry["action_type"], entry["actor"], entry["result"]) for entry in gate.audit()]
        assert told[:3] == [
            ("reject", "command line", "rejected"),
            ("send_email", "agent", "preview"),
            ("approve", "command line", "success"),
        ]
    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        await gate.send(replace(MAIL, subject="Held"))
        gate.time.pass_(31)
        await worker.work_once(gate.gateway)
        entry = gate.audit()[0]
        assert (entry["action_type"], entry["actor"], entry["result"]) == ("send_email", "worker", "success")
        assert entry["target"] == "b***@demo.example"


async def test_a_mail_that_may_no_longer_leave_is_audited_once(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=30) as gate:
        await gate.send()
        time = gate.time
    time.pass_(31)
    async with gate_rig(tmp_path, time=time, block_recipients=["bob@demo.example"]) as gate:
        for _ in range(3):
            await worker.work_once(gate.gateway)
            gate.time.pass_(100)
        entries = [entry for entry in gate.audit() if entry["actor"] == "worker"]
        assert [(entry["result"], entry["error"]) for entry in entries] == [("rejected", "PERMISSION_DENIED")]
