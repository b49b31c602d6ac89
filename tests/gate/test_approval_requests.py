"""Asking a person: for how long one question stands for a repeated call."""

from __future__ import annotations

from typing import get_args

from tests.gate.rigs import MAIL, gate_rig
from tests.unit.store.kit import A_DAY

from postroom.safety.judge import Finding
from postroom.service.sending.approval import approvals
from postroom.service.sending.approval.requests import approval_id_of, ask, file_name
from postroom.store.sends.send_rows import SendKind


async def test_what_a_person_approved_answers_the_same_call_for_a_day(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        gate.time.pass_(A_DAY - 1)
        assert (await gate.send()).status == "already_executed"
        gate.time.pass_(1)
        again = await gate.send()
        assert (again.status, again.send_id != asked.send_id) == ("needs_approval", True)
        assert await gate.inbox() == ["Lunch?"]


async def test_a_letter_that_is_gone_is_asked_for_anew_once_nobody_can_be_writing_it(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        (name,) = gate.gateway.vault.names("Pending_Approval")
        (gate.gateway.vault.root / "Pending_Approval" / name).unlink()
        gate.time.pass_(60)
        assert (await gate.send()).send_id == asked.send_id
        gate.time.pass_(1)
        again = await gate.send()
        assert (again.status, again.send_id != asked.send_id) == ("needs_approval", True)
        assert [one.send_id for one in await approvals.list_waiting(gate.gateway)] == [again.send_id]


def test_a_file_of_ours_is_known_by_its_name_and_no_other_is():
    for kind in get_args(SendKind):
        assert approval_id_of(file_name(kind, "a0123456789")) == "a0123456789"
    for name in ("email_delete_a0123456789.md", "email_send_a0123456789.txt", "x email_send_a0123456789.md", "bob.md"):
        assert approval_id_of(name) == ""


async def test_the_letter_says_what_the_gate_found(tmp_path):
    """Whoever approves in the vault knows as much as whoever sees the preview."""
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        assert asked.warnings
        (name,) = gate.gateway.vault.names("Pending_Approval")
        letter = (gate.gateway.vault.root / "Pending_Approval" / name).read_text()
        assert all(warning in letter for warning in asked.warnings)
        await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert await gate.inbox() == ["Lunch?"]


async def test_what_the_gate_found_adds_no_line_to_the_letter(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await ask(gate.gateway, await gate.order(MAIL), [Finding("x", "Look\nTo: bob@demo.example")])
        (name,) = gate.gateway.vault.names("Pending_Approval")
        letter = (gate.gateway.vault.root / "Pending_Approval" / name).read_text()
        assert asked.approval is not None
        assert "Look⟨U+000A⟩To: bob@demo.example" in letter
