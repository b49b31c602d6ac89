"""What is shown is what is sent, or it is refused: a letter that was tampered with is neither shown nor approved."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.scenarios import approve_pending
from tests.gate.rigs import MAIL, GateRig, gate_rig

from postroom.model.errors import NotFound, PermissionDenied, PostroomError
from postroom.model.outcome import SubmitOutcome
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals, requests
from postroom.store import State


def the_file(gate: GateRig) -> Path:
    (path,) = (gate.gateway.vault.root / "Pending_Approval").iterdir()
    return path


TAMPERED = {
    "a word": lambda text: text.replace("noon", "dusk"),
    "a recipient in words": lambda text: text.replace("To: bob@", "To: carol@"),
    "a recipient above": lambda text: text.replace('- "bob@', '- "carol@'),
    "the subject": lambda text: text.replace('subject: "Lunch?"', 'subject: "Dinner?"'),
    "the digest": lambda text: text.replace('content_sha256: "', 'content_sha256: "0'),
    "the kind": lambda text: text.replace("type: email_send", "type: email_reply", 1),
    "the time of asking": lambda text: text.replace('created: "2027', 'created: "2026'),
    "the expiry": lambda text: text.replace('expires: "2027', 'expires: "2028'),
    "the action": lambda text: text.replace("action_type: send_email", "action_type: reply_email"),
    "a thread": lambda text: text.replace("action_type:", 'thread_id: "7"\naction_type:'),
    "a line more": lambda text: text + "\nBcc: eve@evil.example\n",
    "no front matter": lambda _: "Bob, lunch at noon?\n",
    "an escape": lambda text: text.replace("noon", "noon\x1b[2K"),
}


@pytest.mark.parametrize("what", TAMPERED)
async def test_a_tampered_file_is_neither_shown_nor_approved_and_can_be_rejected(tmp_path, what):
    async with gate_rig(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        path = the_file(gate)
        before = path.read_text()
        path.write_text(TAMPERED[what](before))
        assert path.read_text() != before
        with pytest.raises(PostroomError) as refusal:
            await approvals.show(gate.gateway, approval_id)
        assert "dusk" not in refusal.value.message
        with pytest.raises(PermissionDenied):
            await approvals.approve(gate.gateway, approval_id, who="ada", how="test")
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        assert len(await approvals.list_waiting(gate.gateway)) == 1
        assert (await approvals.reject(gate.gateway, approval_id, who="ada", how="test")).status == "rejected"
        assert await gate.inbox() == []


async def test_a_file_that_is_put_right_again_is_shown_and_approved(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        path = the_file(gate)
        before = path.read_text()
        path.write_text(before.replace("noon", "dusk"))
        with pytest.raises(PermissionDenied):
            await approvals.show(gate.gateway, approval_id)
        path.write_text(before)
        assert "Shall we say noon?" in await approvals.show(gate.gateway, approval_id)
        assert (await approvals.approve(gate.gateway, approval_id, who="ada", how="test")).status == "sent"


async def test_without_its_file_nothing_is_approved_but_it_can_be_rejected(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        the_file(gate).unlink()
        for act in (
            approvals.show(gate.gateway, approval_id),
            approvals.approve(gate.gateway, approval_id, who="a", how="t"),
        ):
            with pytest.raises(NotFound, match="Reject it"):
                await act
        assert await gate.inbox() == []
        await approvals.reject(gate.gateway, approval_id, who="ada", how="test")
        assert (await outbox.list_outbox(gate.gateway)).results == ()


async def test_a_link_in_place_of_the_file_is_not_followed(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        path = the_file(gate)
        path.rename(tmp_path / "elsewhere.md")
        path.symlink_to(tmp_path / "elsewhere.md")
        with pytest.raises(PermissionDenied):
            await approvals.show(gate.gateway, approval_id)


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
    async with gate_rig(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            assert tampering.execute(tamper).rowcount == 1
        for act in (
            approvals.show(gate.gateway, approval_id),
            approvals.approve(gate.gateway, approval_id, who="a", how="t"),
        ):
            with pytest.raises(PermissionDenied, match="not the one that approval was requested for"):
                await act
        assert await gate.inbox() == []


async def test_a_letter_can_still_be_read_when_it_has_been_sent(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        approval_id = (await gate.send()).approval.approval_id
        await approvals.approve(gate.gateway, approval_id, who="ada", how="test")
        assert "Shall we say noon?" in await approvals.show(gate.gateway, approval_id)


# --- what waits


async def test_what_waits_is_listed_oldest_first_with_all_that_names_it(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        first = await gate.send(replace(MAIL, cc=("carol@d\u0435mo.example",)))
        gate.time.pass_(60)
        second = await gate.send(replace(MAIL, subject="Second"))
        one, two = await approvals.list_waiting(gate.gateway)
        assert (one.approval_id, one.send_id) == (first.approval.approval_id, first.send_id)
        assert (one.account, one.kind) == ("alice", "email_send")
        assert one.recipients[0] == "bob@demo.example"
        assert one.recipients[1] != "carol@d\u0435mo.example"  # a letter that passes for another is pointed out
        assert (one.created, one.expires) == ("2027-01-15T08:00:00+00:00", "2027-01-16T08:00:00+00:00")
        assert (two.send_id, two.created) == (second.send_id, "2027-01-15T08:01:00+00:00")
        assert await approvals.list_waiting(gate.gateway, limit=1) == (one,)
        assert await approvals.count_waiting(gate.gateway) == 2


async def test_a_look_at_what_waits_ends_what_nobody_approved_in_time(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        gate.time.pass_(86_400)
        assert await approvals.list_waiting(gate.gateway) == ()
        assert gate.gateway.store.outbox.get(asked.send_id).state is State.EXPIRED


async def test_the_worker_ends_what_nobody_approved_in_time(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        gate.time.pass_(86_399)
        await worker.work_once(gate.gateway)
        assert gate.gateway.store.outbox.get(asked.send_id).state is State.AWAITING_APPROVAL
        gate.time.pass_(1)
        await worker.work_once(gate.gateway)
        assert gate.gateway.store.outbox.get(asked.send_id).state is State.EXPIRED


async def test_a_repeated_call_after_the_day_is_over_asks_anew(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        gate.time.pass_(86_400)
        again = await gate.send()
        assert (again.status, again.send_id != asked.send_id) == ("needs_approval", True)
        assert gate.gateway.store.outbox.get(asked.send_id).state is State.EXPIRED


async def test_who_asks_is_told_what_must_happen_and_until_when(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        for view in (await gate.send(), await gate.send()):
            assert view.message.startswith("Nothing was sent yet. A person must approve it outside this conversation")
            assert "Postroom then sends it automatically; repeat the call to see the result." in view.approval.how
            assert view.approval.expires == "2027-01-16T08:00:00+00:00"
            assert (view.account, view.preview.subject) == ("alice", "Lunch?")
            assert view.preview.to == ("bob@demo.example",)


async def test_who_asks_about_a_stranger_is_warned(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        view = await gate.send()
        assert view.warnings == ("Never written to before: bob@demo.example.",)


@pytest.mark.parametrize(
    ("name", "approval_id"),
    [
        ("email_send_a0123456789.md", "a0123456789"),
        ("email_reply_a1.md", "a1"),
        ("email_forward_a1.md", "a1"),
        ("email_send_a1.md.bak", ""),
        ("email_other_a1.md", ""),
        ("to bob.md", ""),
    ],
)
def test_a_file_of_ours_is_known_by_its_name(name, approval_id):
    assert requests.approval_id_of(name) == approval_id


async def test_the_worker_says_how_much_there_was_to_do(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        assert await worker.work_once(gate.gateway) == 0
        await gate.send()
        await gate.send(replace(MAIL, subject="Second"))
        for name in gate.gateway.vault.names("Pending_Approval"):
            path = gate.gateway.vault.root / "Pending_Approval" / name
            path.rename(gate.gateway.vault.root / "Rejected" / name)
        assert await approvals.heed_vault(gate.gateway) == 2
        assert await approvals.heed_vault(gate.gateway) == 0


async def test_a_file_that_lies_in_both_folders_is_rejected(tmp_path):
    """As when two people decide, or a program that keeps folders alike brings one back."""
    async with gate_rig(tmp_path, gate="approval") as gate:
        view = await gate.send()
        root = gate.gateway.vault.root
        (name,) = gate.gateway.vault.names("Pending_Approval")
        text = (root / "Pending_Approval" / name).read_text().replace("status: pending", "status: approved")
        (root / "Pending_Approval" / name).rename(root / "Rejected" / name)
        approved = root / "Approved" / name
        approved.write_text(text)
        approved.chmod(0o600)
        await approvals.heed_vault(gate.gateway)
        assert (await gate.inbox(), gate.gateway.store.outbox.get(view.send_id).state) == ([], State.CANCELLED)


async def test_a_file_that_approves_nothing_keeps_no_other_from_being_heeded(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        for subject in ("one", "two", "three"):
            await gate.send(replace(MAIL, subject=subject))
        root = gate.gateway.vault.root
        for number, name in enumerate(sorted(gate.gateway.vault.names("Pending_Approval"))):
            path = root / "Pending_Approval" / name
            text = path.read_text()
            path.write_text(text if number == 0 else text.replace("status: pending", "status: approved"))
            path.rename(root / "Approved" / name)
        assert await approvals.heed_vault(gate.gateway) == 2
        assert len(await gate.inbox()) == 2
        assert len(gate.gateway.vault.names("Approved")) == 1


async def test_what_a_person_decides_in_the_vault_is_recorded_as_decided_there(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        for folder, subject, state in (("Approved", "yes", "consumed"), ("Rejected", "no", "rejected")):
            asked = await gate.send(replace(MAIL, subject=subject))
            (name,) = gate.gateway.vault.names("Pending_Approval")
            path = gate.gateway.vault.root / "Pending_Approval" / name
            path.write_text(path.read_text().replace("status: pending", "status: approved"))
            path.rename(gate.gateway.vault.root / folder / name)
            await worker.work_once(gate.gateway)
            approval = gate.gateway.store.approvals.get(asked.approval.approval_id)
            assert (approval.who, approval.how, approval.state) == ("vault", "vault", state)
            assert gate.audit()[0]["actor"] == "vault"


async def test_files_that_a_person_keeps_in_the_vault_stay_where_they_are(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        gate.gateway.vault.prepare()
        kept = [gate.gateway.vault.root / folder / "notes.md" for folder in ("Pending_Approval", "Approved")]
        foreign = gate.gateway.vault.root / "Approved" / "email_send_a0123456789.md"
        for path in (*kept, foreign):
            path.write_text("mine")
        await worker.work_once(gate.gateway)
        assert all(path.read_text() == "mine" for path in (*kept, foreign))


async def test_the_file_of_a_sent_mail_goes_to_done_and_that_of_a_stopped_one_to_rejected(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        root = gate.gateway.vault.root
        sent, stopped = await gate.send(), await gate.send(replace(MAIL, subject="Stopped"))
        await approvals.approve(gate.gateway, sent.approval.approval_id, who="ada", how="test")
        name = f"email_send_{sent.approval.approval_id}.md"
        (root / "Done" / name).rename(root / "Approved" / name)  # put back by a person
        await outbox.cancel_send(gate.gateway, stopped.send_id)
        await worker.work_once(gate.gateway)
        assert gate.gateway.vault.names("Done") == [name]
        assert gate.gateway.vault.names("Rejected") == [f"email_send_{stopped.approval.approval_id}.md"]


async def test_a_person_s_word_on_a_stuck_send_is_audited_with_the_word(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = meddled.reconciled = lambda _: SubmitOutcome("unknown")
        view = await gate.send()
        await approvals.resolve(gate.gateway, view.send_id, "drop")
        assert (gate.audit()[0]["action_type"], gate.audit()[0]["actor"]) == ("resolve_drop", "command line")
        assert len(meddled.submitted) == 1


async def test_the_first_file_may_be_refused_and_the_next_is_heeded(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval") as gate:
        for subject in ("First", "Second"):
            await gate.send(replace(MAIL, subject=subject))
        approve_pending(gate.gateway.vault.root)
        granting, refused = gate.gateway.store.approvals.approve, []

        def once_refused(approval_id, **by):
            if not refused:
                refused.append(approval_id)
                raise PermissionDenied("Not this one.")
            return granting(approval_id, **by)

        monkeypatch.setattr(gate.gateway.store.approvals, "approve", once_refused)
        assert await approvals.heed_vault(gate.gateway) == 1
        assert len(await gate.inbox()) == 1
