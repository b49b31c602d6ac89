"""Approvals written by hand match on kind, status and recipient or thread, where the operator allows them at all."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from tests.gate.rigs import CONFIRMED, MAIL, gate_rig

from postroom.model.errors import InternalError
from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.writing import composing

TEXT = "---\ntype: email_send\nstatus: approved\nto: bob@demo.example\n---\nGo ahead.\n"


def write(gate, text=TEXT, name="go.md"):
    gate.gateway.vault.prepare()
    path = gate.gateway.vault.root / "Approved" / name
    path.write_text(text)
    path.chmod(0o600)
    return path


async def test_a_matching_file_releases_one_send_and_moves_to_done(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        assert (await gate.send()).status == "sent"
        assert os.listdir(gate.gateway.vault.root / "Approved") == []
        assert os.listdir(gate.gateway.vault.root / "Done") == ["go.md"]
        assert (await gate.send(replace(MAIL, subject="Second"))).status == "needs_approval"
        assert await gate.inbox() == ["Lunch?"]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("approved", "pending"),
        TEXT.replace("bob@", "carol@"),
        TEXT.replace("email_send", "email_reply"),
        TEXT.replace("---\nGo", "content_sha256: abc\n---\nGo"),
        TEXT.replace("---\nGo", "expires: 2001-01-01T00:00:00+00:00\n---\nGo"),
        TEXT.replace("---\nGo", "expires: 2027-01-15T08:00:00\n---\nGo"),
        TEXT.replace("---\nGo", "expires: 2027-01-15T09:59:59+02:00\n---\nGo"),
        TEXT.replace("---\nGo", "expires: next year\n---\nGo"),
        TEXT.replace("type: email_send", "type: email_forward"),
        TEXT.replace("---\nGo", "thread_id: t1\n---\nGo").replace("to: bob@demo.example\n", ""),
        TEXT.replace("to: bob@demo.example\n", ""),
    ],
)
async def test_a_file_that_does_not_match_releases_nothing_and_stays(tmp_path, text):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate, text)
        assert (await gate.send()).status == "needs_approval"
        assert path.exists()


async def test_every_recipient_must_be_named(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        assert (await gate.send(replace(MAIL, bcc=("carol@demo.example",)))).status == "needs_approval"


async def test_elsewhere_they_count_for_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        path = write(gate)
        assert (await gate.send()).status == "needs_approval"
        assert path.exists()


async def test_a_reply_is_matched_by_its_thread(tmp_path):
    async with gate_rig(tmp_path, dialect="vault") as gate:
        await gate.send()
        (row,) = (await search.list_emails(gate.gateway, account="bob")).results
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        order = await send.order_reply(gate.gateway, row.email_id, composing.ReplyRequest("Yes"), CONFIRMED)
        text = "---\ntype: email_reply\nstatus: approved\nthread_id: '{}'\n---\n"
        for other in ("another-thread", ""):
            write(gate, text.format(other))
            assert (await send.send(gate.gateway, order)).status == "needs_approval"
        again = await send.order_reply(gate.gateway, row.email_id, composing.ReplyRequest("Yes!"), CONFIRMED)
        write(gate, text.format(order.draft.threading.thread_ref))
        assert (await send.send(gate.gateway, again)).status == "sent"


async def test_a_reply_goes_only_to_those_whom_the_file_names(tmp_path):
    async with gate_rig(tmp_path, dialect="vault") as gate:
        await gate.send()
        (row,) = (await search.list_emails(gate.gateway, account="bob")).results
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        order = await send.order_reply(gate.gateway, row.email_id, composing.ReplyRequest("Yes"), CONFIRMED)
        thread = order.draft.threading.thread_ref
        text = "---\ntype: email_reply\nstatus: approved\nthread_id: '{}'\nto: {}\n---\n"
        for somebody_else in ("carol@demo.example", "nobody"):
            write(gate, text.format(thread, somebody_else))
            assert (await send.send(gate.gateway, order)).status == "needs_approval"
        again = await send.order_reply(gate.gateway, row.email_id, composing.ReplyRequest("Yes!"), CONFIRMED)
        write(gate, text.format(thread, "alice@demo.example"))
        assert (await send.send(gate.gateway, again)).status == "sent"


async def test_a_full_rate_window_leaves_the_file_for_later(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault", sends_per_hour=1) as gate:
        write(gate)
        await gate.send()
        path = write(gate)
        assert (await gate.send(replace(MAIL, subject="Second"))).status == "needs_approval"
        assert path.exists()


async def test_an_approval_taken_back_after_it_was_read_releases_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        gate.gateway.vault.scan("Approved")
        path.write_text(TEXT.replace("approved", "withdrawn"))
        assert (await gate.send()).status == "needs_approval"
        path.write_text(TEXT)
        assert (await gate.send(replace(MAIL, subject="Second"))).status == "sent"


@pytest.mark.parametrize("expires", ["2027-01-15T08:00:01", "2027-01-15T08:00:01+00:00", "2027-01-15T09:00:01+01:00"])
async def test_a_file_that_has_not_expired_counts_in_whichever_zone_its_time_is_written(tmp_path, expires):
    """The gateway's clock stands at 2027-01-15T08:00:00 in UTC; a time without a zone is one in UTC."""
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, TEXT.replace("---\nGo", f"expires: {expires}\n---\nGo"))
        assert (await gate.send()).status == "sent"


async def test_the_approval_says_that_it_was_written_by_hand(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        sent = await gate.send()
        row = gate.gateway.store.outbox.get(sent.send_id)
        approval = gate.gateway.store.approvals.get(row.approval_id)
        assert (approval.state, approval.who, approval.how) == ("consumed", "vault", "handwritten")


async def test_a_file_that_came_after_the_last_look_is_found(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, TEXT.replace("bob@", "carol@"), "other.md")
        gate.gateway.vault.scan("Approved")
        write(gate)
        assert (await gate.send()).status == "sent"
        assert os.listdir(gate.gateway.vault.root / "Approved") == ["other.md"]


async def test_a_file_that_somebody_else_takes_in_the_same_moment_releases_nothing(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        claim = gate.gateway.vault.claim

        def too_late(wanted, folder="Done"):
            path.unlink()
            return claim(wanted, folder)

        monkeypatch.setattr(gate.gateway.vault, "claim", too_late)
        assert (await gate.send()).status == "needs_approval"
        assert await gate.inbox() == []


async def test_a_file_goes_back_to_where_it_lay_when_its_approval_could_not_be_stored(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)

        def fails(*_, **__):
            raise InternalError("The state file cannot be written.")

        monkeypatch.setattr(gate.gateway.store.approvals, "approve", fails)
        with pytest.raises(InternalError, match="cannot be written"):
            await gate.send()
        assert path.exists()
        assert os.listdir(gate.gateway.vault.root / "Done") == []
        assert await gate.inbox() == []


async def test_a_file_taken_back_so_that_size_and_time_do_not_show_it_releases_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        gate.gateway.vault.scan("Approved")
        before = path.stat()
        path.write_text(TEXT.replace("approved", "rejected"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (await gate.send()).status == "needs_approval"
        assert path.exists()
