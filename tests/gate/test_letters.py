"""Between asking and reading: the letter a person decides by is never missing, and never one of ten thousand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.gate.rigs import MAIL, SetClock, gate_rig
from tests.unit.store.kit import A_DAY

from postroom.model.errors import InternalError, RateLimited
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals
from postroom.store import State
from postroom.store.sends.approvals import MAX_PENDING


class Died(BaseException):
    pass


def dies(*_args, **_kwargs):
    raise Died


async def test_a_death_between_asking_and_writing_the_letter_is_made_good(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval") as gate:
        vault = gate.gateway.vault
        with monkeypatch.context() as patched:
            patched.setattr(vault, "write_pending", dies)
            with pytest.raises(Died):
                await gate.send()
        assert vault.names("Pending_Approval") == []
        await worker.work_once(gate.gateway)
        gate.time.pass_(60)
        await worker.work_once(gate.gateway)
        assert vault.names("Pending_Approval") == []  # whoever asked may still be writing it
        gate.time.pass_(1)
        await worker.work_once(gate.gateway)
        assert gate.gateway.store.approvals.unwritten() == []
        (waiting,) = await approvals.list_waiting(gate.gateway)
        assert "Shall we say noon?" in await approvals.show(gate.gateway, waiting.approval_id)
        assert (await gate.send()).send_id == waiting.send_id
        (name,) = vault.names("Pending_Approval")
        path = vault.root / "Pending_Approval" / name
        path.write_text(path.read_text().replace("status: pending", "status: approved"))
        path.rename(vault.root / "Approved" / name)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize("boot_id", ["boot-1", "boot-2"])
async def test_nor_does_a_wall_clock_that_is_set_back_make_anybody_wait_for_the_letter(tmp_path, monkeypatch, boot_id):
    time = SetClock()
    async with gate_rig(tmp_path, time=time, gate="approval") as gate:
        monkeypatch.setattr(gate.gateway.vault, "write_pending", dies)
        with pytest.raises(Died):
            await gate.send()
    time.wall -= A_DAY
    time.boottime, time.boot_id = (time.boottime + 61, boot_id) if boot_id == "boot-1" else (10.0, boot_id)
    async with gate_rig(tmp_path, time=time, gate="approval") as gate:
        await worker.work_once(gate.gateway)
        (waiting,) = await approvals.list_waiting(gate.gateway)
        assert "Shall we say noon?" in await approvals.show(gate.gateway, waiting.approval_id)


async def test_a_letter_that_was_written_is_not_written_again(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        await gate.send()
        assert gate.gateway.store.approvals.unwritten() == []
        (name,) = gate.gateway.vault.names("Pending_Approval")
        (gate.gateway.vault.root / "Pending_Approval" / name).unlink()
        gate.time.pass_(61)
        await worker.work_once(gate.gateway)
        assert gate.gateway.vault.names("Pending_Approval") == []


async def test_a_vault_that_takes_no_letter_leaves_nothing_waiting_and_the_key_free(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval") as gate:

        def full(*_):
            raise InternalError("The approval could not be written to the vault.")

        with monkeypatch.context() as patched:
            patched.setattr(gate.gateway.vault, "write_pending", full)
            with pytest.raises(InternalError):
                await gate.send(idempotency_key="k")
        assert await approvals.list_waiting(gate.gateway) == ()
        assert gate.gateway.store.approvals.unwritten() == []
        assert (await gate.send(idempotency_key="k")).status == "needs_approval"


async def test_a_flood_of_requests_is_stopped_before_it_buries_the_person(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        store, order = gate.gateway.store, await gate.order()
        for _ in range(MAX_PENDING):
            waiting = store.outbox.prepare(order.as_send())
            store.approvals.request(waiting.send_id, expires_at=gate.time.wall + 86_400)
        with pytest.raises(RateLimited, match=r"100 messages .* waiting") as refusal:
            await gate.send(replace(MAIL, subject="One more"))
        assert "cancel_send" in refusal.value.message
        assert len(gate.gateway.vault.names("Pending_Approval")) == 0
        (last,) = store.outbox.list(states=[State.AWAITING_APPROVAL], limit=1).items
        await outbox.cancel_send(gate.gateway, last.send_id)
        assert (await gate.send(replace(MAIL, subject="One more"))).status == "needs_approval"


async def test_a_letter_that_is_still_being_written_keeps_no_other_waiting(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval") as gate:
        vault = gate.gateway.vault
        with monkeypatch.context() as patched:
            patched.setattr(vault, "write_pending", dies)
            for subject in ("Old", "New"):
                with pytest.raises(Died):
                    await gate.send(replace(MAIL, subject=subject))
                gate.time.pass_(40)
        with gate.gateway.store._database.transaction() as connection:  # whichever comes first
            connection.execute("UPDATE unwritten_letters SET rowid = -rowid")
        await worker.work_once(gate.gateway)
        (name,) = vault.names("Pending_Approval")
        assert "Subject: Old" in (vault.root / "Pending_Approval" / name).read_text()
