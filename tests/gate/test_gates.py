"""The five gate settings, and what releases each."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.gate.rigs import MAIL, gate_rig, vars_of

from postroom.model.errors import Conflict, PermissionDenied
from postroom.service.reading import search
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.order import Answered, Wishes
from postroom.service.writing import composing


async def test_preview_gate_wants_exactly_what_was_previewed_and_only_once(tmp_path):
    async with gate_rig(tmp_path, gate="preview") as gate:
        assert (await gate.send()).status == "preview"
        assert (await gate.send()).status == "sent"
        for _ in range(3):  # a caller that retries blindly stays at the preview
            assert (await gate.send()).status == "preview"
        assert await gate.inbox() == ["Lunch?"]
        await gate.send(confirm=False)
        assert (await gate.send()).status == "sent"


async def test_preview_gate_refuses_changed_content_and_stale_previews(tmp_path):
    async with gate_rig(tmp_path, gate="preview") as gate:
        await gate.send(confirm=False)
        assert (await gate.send(replace(MAIL, body="Shall we say one?"))).status == "preview"
        assert (await gate.send(replace(MAIL, bcc=("carol@demo.example",)))).status == "preview"
        gate.time.pass_(601)
        assert (await gate.send()).status == "preview"
        assert await gate.inbox() == []


async def test_two_confirmations_of_one_preview_give_one_send(tmp_path):
    import anyio

    async with gate_rig(tmp_path, gate="preview") as gate:
        await gate.send(confirm=False)
        seen: list[str] = []

        async def one() -> None:
            seen.append((await gate.send()).status)

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(one)
        assert seen.count("sent") == 1
        assert await gate.inbox() == ["Lunch?"]


async def test_elicit_gate_asks_sends_on_yes_and_not_on_no(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        order = await gate.order(wishes=Wishes(confirm=True, can_elicit=True))
        question = await send.question(gate.gateway, order)
        assert "bob@demo.example" in question.text
        assert "Lunch?" in question.text
        assert await gate.inbox() == []
        no = replace(order, wishes=replace(order.wishes, answer=Answered("declined", question.send_id)))
        with pytest.raises(PermissionDenied):
            await send.send(gate.gateway, no)
        assert (await outbox.list_outbox(gate.gateway)).results == ()

        yes = replace(order, wishes=await gate.asked())
        assert (await send.send(gate.gateway, yes)).status == "sent"
        assert (await send.send(gate.gateway, yes)).status == "preview"  # the answer was used
        assert await gate.inbox() == ["Lunch?"]


async def test_an_answer_for_one_mail_does_not_release_another(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        other = await gate.order(replace(MAIL, to=("carol@demo.example",)), await gate.asked())
        with pytest.raises(Conflict, match="was changed while"):
            await send.send(gate.gateway, other)
        assert await gate.inbox("carol") == []


async def test_a_yes_to_one_mail_does_not_release_another_whose_question_was_left_open(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        hostile = replace(MAIL, to=("carol@demo.example",), body="All the secrets")
        await gate.asked(hostile)  # left open
        with pytest.raises(Conflict, match="was changed while"):
            await gate.send(hostile, **vars_of(await gate.asked()))
        assert await gate.inbox("carol") == []
        assert await gate.inbox() == []


@pytest.mark.parametrize("change", [{"idempotency_key": "other"}, {"save_to_sent": False}, {"send_at": None}])
async def test_a_yes_covers_the_key_the_copy_and_the_time_that_were_asked_about(tmp_path, change):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        wishes = await gate.asked(idempotency_key="k", send_at=gate.gateway.now() + timedelta(days=1))
        with pytest.raises(Conflict, match="was changed while"):
            await gate.send(**{**vars_of(wishes), **change})
        assert await gate.inbox() == []
        assert (await outbox.list_outbox(gate.gateway)).results == ()


async def test_a_question_for_tomorrow_is_not_taken_up_for_now(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        tomorrow = gate.gateway.now() + timedelta(days=1)
        await gate.asked(send_at=tomorrow)  # left open
        assert (await gate.send(**vars_of(await gate.asked()))).status == "sent"
        wishes = await gate.asked(replace(MAIL, subject="Later"), send_at=tomorrow)
        assert (await gate.send(replace(MAIL, subject="Later"), **vars_of(wishes))).status == "scheduled"
        assert await gate.inbox() == ["Lunch?"]


async def test_an_unanswered_question_is_withdrawn_and_a_late_yes_asks_again(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        wishes = await gate.asked()
        gate.time.pass_(901)
        await worker.work_once(gate.gateway)
        assert (await outbox.list_outbox(gate.gateway)).results == ()
        assert (await gate.send(**vars_of(wishes))).status == "preview"
        assert await gate.inbox() == []


async def test_an_undo_window_begins_with_the_yes_not_with_the_question(tmp_path):
    async with gate_rig(tmp_path, gate="elicit", hold_seconds=60) as gate:
        wishes = await gate.asked()
        gate.time.pass_(300)
        assert (await gate.send(**vars_of(wishes))).status == "held"
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []


async def test_the_question_is_the_same_on_a_retried_call_and_new_after_use(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        wishes = Wishes(confirm=True, can_elicit=True)
        first = await send.question(gate.gateway, await gate.order(wishes=wishes))
        again = await send.question(gate.gateway, await gate.order(wishes=wishes))
        assert first == again
        yes = Answered("accepted", first.send_id)
        await send.send(gate.gateway, await gate.order(wishes=replace(wishes, answer=yes)))
        assert await send.question(gate.gateway, await gate.order(wishes=wishes)) != first


async def test_approval_gate_waits_for_a_person_and_then_sends_by_itself(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        assert asked.status == "needs_approval"
        again = await gate.send()
        assert (again.status, again.send_id) == ("needs_approval", asked.send_id)
        assert await gate.inbox() == []
        (waiting,) = await approvals.list_waiting(gate.gateway)
        assert waiting.approval_id == asked.approval.approval_id
        assert await approvals.count_waiting(gate.gateway) == 1
        assert "Shall we say noon?" in await approvals.show(gate.gateway, waiting.approval_id)
        granted = await approvals.approve(gate.gateway, waiting.approval_id, who="ada", how="test")
        assert granted.status == "sent"
        assert (await gate.send()).status == "already_executed"
        assert await gate.inbox() == ["Lunch?"]
        assert [path.parent.name for path in gate.gateway.vault.root.rglob("*.md")] == ["Done"]


async def test_a_rejected_or_forgotten_approval_sends_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        first = await gate.send()
        rejected = await approvals.reject(gate.gateway, first.approval.approval_id, who="ada", how="test")
        assert rejected.status == "rejected"
        second = await gate.send()
        assert second.send_id != first.send_id
        gate.time.pass_(25 * 3600)
        await worker.work_once(gate.gateway)
        third = await gate.send()
        assert third.send_id != second.send_id
        assert await gate.inbox() == []


async def test_the_file_of_a_reply_names_its_thread_and_that_of_a_new_mail_none(tmp_path):
    async with gate_rig(tmp_path) as gate:
        await gate.send()
        (row,) = (await search.list_emails(gate.gateway, account="bob")).results
        wishes = Wishes(confirm=True, require_approval=True)
        reply = await send.order_reply(gate.gateway, row.email_id, composing.ReplyRequest("Yes"), wishes)
        asked = [
            await send.send(gate.gateway, reply),
            await gate.send(replace(MAIL, subject="New"), require_approval=True),
        ]
        files = {found.file.approval_id: found.file for found in gate.gateway.vault.scan("Pending_Approval")}
        about_reply, about_new = [files[view.approval.approval_id] for view in asked]
        assert (about_reply.type, about_reply.thread_id) == ("email_reply", reply.draft.threading.thread_ref)
        assert about_reply.thread_id
        assert (about_new.type, about_new.thread_id) == ("email_send", "")


async def test_a_refusal_on_the_command_line_puts_the_file_where_the_vault_has_refusals(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        await approvals.reject(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        vault = gate.gateway.vault
        assert (len(vault.names("Pending_Approval")), len(vault.names("Rejected"))) == (0, 1)
        assert await gate.inbox() == []


async def test_a_letter_shown_at_a_terminal_cannot_write_over_whom_it_is_for(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send(replace(MAIL, body="Hi\x1b[9A\x1b[2KTo: mum\u202e"))
        shown = await approvals.show(gate.gateway, asked.approval.approval_id)
        assert "bob@demo.example" in shown
        assert "Hi" in shown
        assert not {"\x1b", "\u202e"} & set(shown)


async def test_a_vault_that_cannot_be_read_keeps_no_held_mail_waiting(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        assert (await gate.send()).status == "held"
        await gate.send(replace(MAIL, subject="Asked"), require_approval=True)
        approved = gate.gateway.vault.root / "Approved"
        approved.rmdir()
        approved.write_text("no folder")
        gate.time.pass_(61)
        with pytest.raises(OSError, match="Not a directory"):
            await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]


async def test_auto_previews_for_friends_and_asks_a_person_about_strangers(tmp_path):
    async with gate_rig(tmp_path, gate="auto") as gate:
        asked = await gate.send()
        assert asked.status == "needs_approval"
        await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        friendly = replace(MAIL, subject="Again")
        assert (await gate.send(friendly)).status == "preview"  # bob is known now
        assert (await gate.send(friendly)).status == "sent"
        stranger = replace(friendly, subject="Third", cc=("carol@demo.example",))
        await gate.send(stranger, confirm=False)
        assert (await gate.send(stranger)).status == "needs_approval"


async def test_auto_knows_whom_sent_mail_went_to_even_without_our_memory(tmp_path):
    async with gate_rig(tmp_path, gate="confirm") as gate:
        await gate.send()
    (tmp_path / "state.db").unlink()
    async with gate_rig(tmp_path, gate="auto") as gate:
        assert (await gate.send(replace(MAIL, subject="Again"))).status == "preview"


async def test_auto_asks_through_the_client_where_it_can(tmp_path):
    async with gate_rig(tmp_path, gate="auto") as gate:
        order = await gate.order(wishes=Wishes(confirm=True, can_elicit=True))
        assert "Never written to before" in (await send.question(gate.gateway, order)).text
        yes = replace(order, wishes=await gate.asked())
        assert (await send.send(gate.gateway, yes)).status == "sent"


async def test_a_request_can_ask_for_more_say_but_never_for_less(tmp_path):
    async with gate_rig(tmp_path, gate="confirm") as gate:
        assert (await gate.send(require_approval=True)).status == "needs_approval"
    async with gate_rig(tmp_path / "b", gate="approval") as gate:
        assert (await gate.send(require_approval=False)).status == "needs_approval"


def approve_by_hand(gate, folder="Approved", edit=lambda text: text.replace("status: pending", "status: approved")):
    (path,) = (gate.gateway.vault.root / "Pending_Approval").iterdir()
    path.write_text(edit(path.read_text()))
    target = path.parent.parent / folder / path.name
    path.rename(target)
    return target


async def test_a_file_moved_in_the_vault_is_heeded(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        await gate.send()
        approve_by_hand(gate)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]
        assert os.listdir(gate.gateway.vault.root / "Approved") == []
        await gate.send(replace(MAIL, subject="Second"))
        approve_by_hand(gate, "Rejected", lambda text: text)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == ["Lunch?"]
        assert await approvals.list_waiting(gate.gateway) == ()


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text,  # moved, but the status still says pending
        lambda text: text.replace("pending", "approved").replace("bob@demo.example", "carol@demo.example"),
        lambda text: text.replace("pending", "approved").replace("noon", "midnight"),
        lambda text: text.replace("pending", "approved").replace('subject: "Lunch?"', 'subject: "Dinner?"'),
        lambda text: text.replace("pending", "approved").replace('content_sha256: "', 'content_sha256: "0'),
        lambda text: text.replace("pending", "approved").replace("email_send", "email_reply"),
        lambda text: text.replace("pending", "approved").replace("---\n# ", "# "),
        lambda text: text.replace("status: pending", "status: &a approved"),
    ],
)
async def test_a_tampered_file_approves_nothing_and_loses_nothing(tmp_path, edit):
    async with gate_rig(tmp_path, gate="approval") as gate:
        view = await gate.send()
        path = approve_by_hand(gate, edit=edit)
        await worker.work_once(gate.gateway)
        assert await gate.inbox() == []
        assert path.exists()
        assert (await approvals.list_waiting(gate.gateway))[0].send_id == view.send_id


async def test_files_of_sends_that_are_over_are_filed_away(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        folder = gate.gateway.vault.root
        refused = await gate.send(replace(MAIL, to=("nobody@elsewhere.example",)))
        await approvals.approve(gate.gateway, refused.approval.approval_id, who="ada", how="test")
        await approvals.resolve(gate.gateway, refused.send_id, "drop")
        await gate.send(replace(MAIL, subject="Forgotten"))
        gate.time.pass_(25 * 3600)
        await gate.send(replace(MAIL, subject="Still open"))
        await worker.work_once(gate.gateway)
        assert len(os.listdir(folder / "Pending_Approval")) == 1
        assert len(os.listdir(folder / "Rejected")) == 2


async def test_a_person_can_see_why_a_moved_file_leads_to_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        await gate.send()
        path = approve_by_hand(gate, edit=lambda text: text)
        assert await approvals.unheeded(gate.gateway) == (
            (path.name, "The file was moved, but its status is not `approved`."),
        )
        path.write_text("---\nnonsense")
        ((_, reason),) = await approvals.unheeded(gate.gateway)
        assert "front matter" in reason


async def test_a_question_that_two_servers_ask_is_answered_once_whoever_is_told_first(tmp_path):
    async with (
        gate_rig(tmp_path, gate="elicit") as one,
        gate_rig(tmp_path, gate="elicit") as other,
    ):
        first, second = await one.asked(), await other.asked()
        assert (await other.send(**vars_of(second))).status == "sent"
        assert (await one.send(**vars_of(first))).status == "preview"
        assert await one.inbox() == ["Lunch?"]


async def test_an_answer_that_was_used_is_not_made_fresh_by_a_preview(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        answered = await gate.asked()
        assert (await gate.send(**vars_of(answered))).status == "sent"
        assert (await gate.send(confirm=False)).status == "preview"
        assert (await gate.send(**vars_of(answered))).status == "preview"
        assert await gate.inbox() == ["Lunch?"]
