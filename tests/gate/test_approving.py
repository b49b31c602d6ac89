"""What is shown is what is sent, or it is refused: a letter that was tampered with is neither shown nor approved."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.gate.houses import GateHouse, gate_house

from postroom.model.errors import NotFound, PermissionDenied, PostroomError
from postroom.service import approvals, outbox, worker


def the_file(gate: GateHouse) -> Path:
    (path,) = (gate.house.vault.root / "Pending_Approval").iterdir()
    return path


TAMPERED = {
    "a word": lambda text: text.replace("noon", "dusk"),
    "a recipient in words": lambda text: text.replace("To: bob@", "To: carol@"),
    "a recipient above": lambda text: text.replace('- "bob@', '- "carol@'),
    "the subject": lambda text: text.replace('subject: "Lunch?"', 'subject: "Dinner?"'),
    "the digest": lambda text: text.replace('content_sha256: "', 'content_sha256: "0'),
    "the expiry": lambda text: text.replace('expires: "2027', 'expires: "2028'),
    "the action": lambda text: text.replace("action_type: send_email", "action_type: reply_email"),
    "a thread": lambda text: text.replace("action_type:", 'thread_id: "7"\naction_type:'),
    "a line more": lambda text: text + "\nBcc: eve@evil.example\n",
    "no front matter": lambda _: "Bob, lunch at noon?\n",
    "an escape": lambda text: text.replace("noon", "noon\x1b[2K"),
}


@pytest.mark.parametrize("what", TAMPERED)
async def test_a_tampered_file_is_neither_shown_nor_approved_and_can_be_rejected(tmp_path, what):
    async with gate_house(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        path = the_file(gate)
        before = path.read_text()
        path.write_text(TAMPERED[what](before))
        assert path.read_text() != before
        with pytest.raises(PostroomError) as refusal:
            await approvals.show(gate.house, approval_id)
        assert "dusk" not in refusal.value.message
        with pytest.raises(PermissionDenied):
            await approvals.approve(gate.house, approval_id, who="ada", how="test")
        await worker.work_once(gate.house)
        assert await gate.inbox() == []
        assert len(await approvals.list_waiting(gate.house)) == 1
        assert (await approvals.reject(gate.house, approval_id, who="ada", how="test")).status == "rejected"
        assert await gate.inbox() == []


async def test_a_file_that_is_put_right_again_is_shown_and_approved(tmp_path):
    async with gate_house(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        path = the_file(gate)
        before = path.read_text()
        path.write_text(before.replace("noon", "dusk"))
        with pytest.raises(PermissionDenied):
            await approvals.show(gate.house, approval_id)
        path.write_text(before)
        assert "Shall we say noon?" in await approvals.show(gate.house, approval_id)
        assert (await approvals.approve(gate.house, approval_id, who="ada", how="test")).status == "sent"


async def test_without_its_file_nothing_is_approved_but_it_can_be_rejected(tmp_path):
    async with gate_house(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        the_file(gate).unlink()
        for act in (
            approvals.show(gate.house, approval_id),
            approvals.approve(gate.house, approval_id, who="a", how="t"),
        ):
            with pytest.raises(NotFound, match="Reject it"):
                await act
        assert await gate.inbox() == []
        await approvals.reject(gate.house, approval_id, who="ada", how="test")
        assert (await outbox.list_outbox(gate.house)).results == ()


async def test_a_link_in_place_of_the_file_is_not_followed(tmp_path):
    async with gate_house(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        path = the_file(gate)
        path.rename(tmp_path / "elsewhere.md")
        path.symlink_to(tmp_path / "elsewhere.md")
        with pytest.raises(PermissionDenied):
            await approvals.show(gate.house, approval_id)


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'noon', 'dusk') AS BLOB)",
        "UPDATE outbox SET recipients = replace(recipients, 'bob@', 'carol@')",
        "UPDATE outbox SET save_to_sent = 0",
        "UPDATE outbox SET content_sha256 = 'x'",
        "UPDATE approvals SET content_sha256 = 'x'",
    ],
)
async def test_a_letter_is_not_shown_for_bytes_that_say_something_else(tmp_path, tamper):
    async with gate_house(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            assert tampering.execute(tamper).rowcount == 1
        for act in (
            approvals.show(gate.house, approval_id),
            approvals.approve(gate.house, approval_id, who="a", how="t"),
        ):
            with pytest.raises(PermissionDenied, match="not what the approval was asked for"):
                await act
        assert await gate.inbox() == []


async def test_a_letter_can_still_be_read_when_it_has_been_sent(tmp_path):
    async with gate_house(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        await approvals.approve(gate.house, approval_id, who="ada", how="test")
        assert "Shall we say noon?" in await approvals.show(gate.house, approval_id)
