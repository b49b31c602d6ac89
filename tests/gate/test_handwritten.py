"""Approvals written by hand match on kind, status and recipient or thread, where the operator allows them at all."""

from __future__ import annotations

import os
from dataclasses import replace

import anyio
import pytest
from tests.gate.rigs import CONFIRMED, MAIL, gate_rig
from tests.unit.service.rules.kit import fill, planned, rule

from postroom.model.errors import (
    AuthRequired,
    InternalError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    RateLimited,
)
from postroom.model.ids import Kind
from postroom.model.outcome import SubmitOutcome
from postroom.service.reading import search
from postroom.service.rules.running import run_rule
from postroom.service.sending import preapproved, send
from postroom.service.sending.approval import approvals, handwritten
from postroom.service.views import SendView
from postroom.service.writing import composing
from postroom.store import State
from postroom.store.handles import Handle

TEXT = "---\ntype: email_send\nstatus: approved\nto: bob@demo.example\n---\nGo ahead.\n"


def write(gate, text=TEXT, name="go.md"):
    gate.gateway.vault.prepare()
    path = gate.gateway.vault.root / "Approved" / name
    path.write_text(text)
    path.chmod(0o600)
    return path


async def is_refused(gate, order):
    """Refused for want of an approval; nothing is left waiting for a person, and nothing was sent."""
    with pytest.raises(PermissionDenied) as refused:
        await send.send(gate.gateway, order)
    assert os.listdir(gate.gateway.vault.root / "Pending_Approval") == []
    assert gate.gateway.store.approvals.pending() == []
    return refused.value.reason == "approval_missing"


async def is_mail_refused(gate, request=MAIL):
    return await is_refused(gate, await gate.order(request))


async def test_a_matching_file_releases_one_send_and_moves_to_done(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        assert (await gate.send()).status == "sent"
        assert os.listdir(gate.gateway.vault.root / "Approved") == []
        assert os.listdir(gate.gateway.vault.root / "Done") == ["go.md"]
        assert await is_mail_refused(gate, replace(MAIL, subject="Second"))
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
        TEXT.replace("---\nGo", "expires: 2027-01-14\n---\nGo"),
        TEXT.replace("---\nGo", "expires: next year\n---\nGo"),
        TEXT.replace("type: email_send", "type: email_forward"),
        TEXT.replace("---\nGo", "thread_id: t1\n---\nGo").replace("to: bob@demo.example\n", ""),
        TEXT.replace("to: bob@demo.example\n", ""),
    ],
)
async def test_a_file_that_does_not_match_releases_nothing_and_stays(tmp_path, text):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate, text)
        assert await is_mail_refused(gate)
        assert path.exists()


async def test_every_recipient_must_be_named(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        assert await is_mail_refused(gate, replace(MAIL, bcc=("carol@demo.example",)))


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
        order = await send.order_reply(gate.gateway, row.email_id, composing.ReplyRequest("Yes"), CONFIRMED, "bob")
        text = "---\ntype: email_reply\nstatus: approved\nthread_id: '{}'\n---\n"
        for other in ("another-thread", ""):
            write(gate, text.format(other))
            assert await is_refused(gate, order)
        with pytest.raises(
            PermissionDenied, match=f"approves a reply in the thread {order.draft.threading.thread_ref}."
        ):
            await send.send(gate.gateway, order)
        write(gate, text.format(order.draft.threading.thread_ref))
        assert (await send.send(gate.gateway, order)).status == "sent"


async def test_a_reply_goes_only_to_those_whom_the_file_names(tmp_path):
    async with gate_rig(tmp_path, dialect="vault") as gate:
        await gate.send()
        (row,) = (await search.list_emails(gate.gateway, account="bob")).results
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        order = await send.order_reply(gate.gateway, row.email_id, composing.ReplyRequest("Yes"), CONFIRMED, "bob")
        thread = order.draft.threading.thread_ref
        text = "---\ntype: email_reply\nstatus: approved\nthread_id: '{}'\nto: {}\n---\n"
        for somebody_else in ("carol@demo.example", "nobody"):
            write(gate, text.format(thread, somebody_else))
            assert await is_refused(gate, order)
        write(gate, text.format(thread, "alice@demo.example"))
        assert (await send.send(gate.gateway, order)).status == "sent"


async def test_a_full_rate_window_leaves_the_file_for_later(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault", sends_per_hour=1) as gate:
        write(gate)
        await gate.send()
        path = write(gate)
        with pytest.raises(RateLimited, match="emails/hour"):
            await gate.send(replace(MAIL, subject="Second"))
        assert path.exists()


async def test_an_approval_taken_back_after_it_was_read_releases_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        gate.gateway.vault.scan("Approved")
        path.write_text(TEXT.replace("approved", "withdrawn"))
        assert await is_mail_refused(gate)
        path.write_text(TEXT)
        assert (await gate.send(replace(MAIL, subject="Second"))).status == "sent"


@pytest.mark.parametrize(
    "expires",
    [
        "2027-01-15",
        "9999-12-31",
        "2027-01-15T08:00:01",
        "2027-01-15T08:00:01+00:00",
        "2027-01-15T09:00:01+01:00",
    ],
)
async def test_a_file_that_has_not_expired_counts_in_whichever_zone_its_time_is_written(tmp_path, expires):
    """Without a zone it is in the operator's; a day lasts until its end."""
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, TEXT.replace("---\nGo", f"expires: {expires}\n---\nGo"))
        assert (await gate.send()).status == "sent"


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
        assert await is_mail_refused(gate)
        assert await gate.inbox() == []


async def test_where_somebody_else_takes_one_file_in_the_same_moment_a_second_one_releases_the_mail(
    tmp_path, monkeypatch
):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        write(gate, name="also.md")
        claim, taken_before = gate.gateway.vault.claim, []

        def too_late_once(wanted, folder="Done"):
            if not taken_before:
                taken_before.append(wanted)
                wanted.unlink()
            return claim(wanted, folder)

        monkeypatch.setattr(gate.gateway.vault, "claim", too_late_once)
        assert (await gate.send()).status == "sent"
        assert len(taken_before) == 1
        assert os.listdir(gate.gateway.vault.root / "Approved") == []


async def test_a_file_goes_back_to_where_it_was_when_the_send_could_not_be_stored(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)

        def fails(*_, **__):
            raise InternalError("The state file cannot be written.")

        monkeypatch.setattr(gate.gateway.store.outbox, "reserve", fails)
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
        assert await is_mail_refused(gate)
        assert path.exists()


async def test_a_message_that_the_provider_refused_leaves_its_approval_for_the_next_try(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        meddled = await gate.meddle()
        meddled.before = lambda _: SubmitOutcome("rejected", reason="550 no")
        assert (await gate.send()).status == "rejected"
        assert path.exists()
        meddled.before = lambda _: None
        assert (await gate.send()).status == "sent"
        assert not path.exists()


@pytest.mark.parametrize("outcome", ["unknown", "retryable"])
async def test_a_message_that_may_be_sent_or_still_will_be_keeps_its_approval(tmp_path, outcome):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        meddled = await gate.meddle()
        meddled.before = lambda _: SubmitOutcome(outcome, reason="no response")
        meddled.reconciled = lambda _: SubmitOutcome("unknown")
        assert (await gate.send()).status in ("unknown", "held")
        assert not path.exists()
        assert (await gate.send()).status in ("unknown", "held"), "the same message again is the one under way"
        assert len(meddled.submitted) == 1


async def test_an_operator_who_blocks_somebody_is_heeded_and_the_file_stays(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault", block_recipients=["bob@demo.example"]) as gate:
        path = write(gate)
        with pytest.raises(PermissionDenied, match="block list"):
            await gate.send()
        assert path.exists()


async def test_each_file_releases_one_message_also_if_it_is_the_same_message(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate), write(gate, name="again.md")
        assert [(await gate.send()).status for _ in range(2)] == ["sent", "sent"]
        assert await is_mail_refused(gate)
        assert await gate.inbox() == ["Lunch?", "Lunch?"]


async def test_of_many_calls_at_once_as_many_are_sent_as_there_are_files(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        for number in range(3):
            write(gate, name=f"{number}.md")
        answers = []

        async def call(number):
            try:
                answers.append((await gate.send(replace(MAIL, subject=f"No. {number}"))).status)
            except PermissionDenied as error:
                answers.append(error.reason)

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(call, number)
        assert sorted(answers) == ["approval_missing"] * 5 + ["sent"] * 3
        assert len(await gate.inbox()) == 3


async def test_a_file_that_changes_between_reading_and_taking_releases_nothing_and_goes_back(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        claim = gate.gateway.vault.claim

        def withdrawn_first(wanted, folder="Done"):
            wanted.write_text(TEXT.replace("approved", "withdrawn"))
            return claim(wanted, folder)

        monkeypatch.setattr(gate.gateway.vault, "claim", withdrawn_first)
        assert await is_mail_refused(gate)
        assert path.exists()
        assert await gate.inbox() == []


@pytest.mark.parametrize(
    ("to", "is_sent"),
    [
        ("BOB@Demo.Example", True),
        ("[carol@demo.example, bob@demo.example]", True),
        ("bob@demo.example, carol@demo.example", False),
        ("Bob <bob@demo.example>", False),
        ("*@demo.example", False),
        ("bob@demo.example.evil.example", False),
    ],
)
async def test_the_recipient_is_compared_as_an_address_whole_and_in_either_case(tmp_path, to, is_sent):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, TEXT.replace("bob@demo.example", to))
        assert ((await gate.send()).status == "sent") if is_sent else await is_mail_refused(gate)


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode()[: TEXT.index("---\nGo")],
        TEXT.encode().replace(b"Go ahead", b"\xff\xfe"),
        TEXT.encode("utf-16"),
        b"",
        TEXT.encode().replace(b"to: bob@demo.example", b"to: &a bob@demo.example"),
        TEXT.encode().replace(b"status", b"status: pending\nstatus"),
    ],
    ids=["half written", "not UTF-8", "UTF-16", "empty", "with an anchor", "with a key twice"],
)
async def test_a_file_that_cannot_be_read_whole_releases_nothing_and_stays(tmp_path, content):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        path.write_bytes(content)
        assert await is_mail_refused(gate)
        assert path.exists()


async def test_a_link_to_an_approval_elsewhere_releases_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        elsewhere = tmp_path / "go.md"
        elsewhere.write_text(TEXT)
        write(gate).unlink()
        (gate.gateway.vault.root / "Approved" / "go.md").symlink_to(elsewhere)
        assert await is_mail_refused(gate)


async def test_a_vault_of_which_only_the_approved_folder_was_made_is_enough(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        (tmp_path / "vault" / "Approved").mkdir(parents=True, mode=0o700)
        path = tmp_path / "vault" / "Approved" / "go.md"
        path.write_text(TEXT)
        path.chmod(0o600)
        assert (await gate.send()).status == "sent"
        assert os.listdir(tmp_path / "vault" / "Done") == ["go.md"]


async def test_who_is_told_to_write_an_approval_finds_the_folder_for_it(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        assert await is_mail_refused(gate)
        assert os.listdir(tmp_path / "vault" / "Approved") == []


REPLY = TEXT.replace("email_send", "email_reply")
SEALED = "It has `content_sha256`, as only files that Postroom wrote may. Remove that line."
EXPIRED = "It has expired, or `expires` is not a date such as 2026-12-31."
NOT_PLAIN = "`to` must be the plain address, such as bob@example.com."


def with_line(line, text=TEXT):
    return text.replace("---\nGo", f"{line}\n---\nGo")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TEXT, ""),
        (TEXT.replace("bob@", "carol@"), ""),
        (with_line("content_sha256: abc"), SEALED),
        (TEXT.replace("approved", "Approved"), "Its status is not `approved`."),
        (with_line("expires: 2027-01-14"), EXPIRED),
        (with_line("expires: next year"), EXPIRED),
        (with_line("expires: 2027-01-16"), ""),
        (REPLY, "A reply needs its `thread_id`."),
        (with_line("thread_id: t1", REPLY), ""),
        (with_line("thread_id: t1", REPLY).replace("to: bob@demo.example\n", ""), ""),
        (TEXT.replace("bob@demo.example", "Bob <bob@demo.example>"), NOT_PLAIN),
        (TEXT.replace("bob@demo.example", "[Bob, bob@demo.example]"), ""),
        (TEXT.replace("to: bob@demo.example\n", ""), NOT_PLAIN),
    ],
)
async def test_a_file_that_approves_nothing_is_listed_with_the_reason(tmp_path, text, why):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, text)
        assert await approvals.unheeded(gate.gateway) == ((("go.md", why),) if why else ())
    async with gate_rig(tmp_path, gate="approval") as gate:  # where none counts, none is looked into
        assert await approvals.unheeded(gate.gateway) == ()


async def test_a_file_that_nobody_reads_because_of_its_name_is_listed(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, name="go.md.txt")
        assert "end in .md" in dict(await approvals.unheeded(gate.gateway))["go.md.txt"]


async def test_of_many_such_files_the_first_hundred_are_listed(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        for number in range(101):
            write(gate, name=f"{number}.txt")
        assert len(await approvals.unheeded(gate.gateway)) == 100


@pytest.mark.parametrize("chosen", ["confirm", "preview", "auto"])
async def test_in_the_dialect_vault_every_send_uses_a_file_up_whichever_gate_was_chosen(tmp_path, chosen):
    async with gate_rig(tmp_path, gate=chosen, dialect="vault") as gate:
        write(gate)
        assert (await preapproved.send_mail(gate.gateway, MAIL)).status == "sent"
        with pytest.raises(PermissionDenied, match="approves a message to"):
            await preapproved.send_mail(gate.gateway, replace(MAIL, subject="Second"))
        assert await gate.inbox() == ["Lunch?"]


async def test_a_day_without_a_time_ends_in_the_operators_zone(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault", timezone="Pacific/Auckland") as gate:
        write(gate, TEXT.replace("---\nGo", "expires: 2027-01-14\n---\nGo"))
        assert await is_mail_refused(gate)
        write(gate, TEXT.replace("---\nGo", "expires: 2027-01-15T21:00:01\n---\nGo"))
        assert (await gate.send()).status == "sent"


@pytest.mark.parametrize("is_paused", [False, True])
async def test_a_refused_login_is_an_error_that_leaves_nothing_waiting_and_gives_the_file_back(tmp_path, is_paused):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        meddled = await gate.meddle()
        meddled.before = lambda _: SubmitOutcome("retryable", reason="Log in again.", login_refused=True)
        if is_paused:
            gate.gateway.store.pauses.login_refused("alice", "Log in again.")
        with pytest.raises(AuthRequired, match="Log in again"):
            await gate.send()
        assert path.exists()
        assert await gate.gateway.in_thread(gate.gateway.store.outbox.unfinished) == {}
        meddled.before = lambda _: None
        gate.gateway.store.pauses.login_worked("alice")
        assert (await gate.send()).status == "sent"


async def test_a_caller_who_hangs_up_leaves_no_claimed_file_without_its_message(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        claim = gate.gateway.vault.claim
        with anyio.CancelScope() as call:

            def claimed(path, folder="Done"):
                anyio.from_thread.run_sync(call.cancel)
                return claim(path, folder)

            monkeypatch.setattr(gate.gateway.vault, "claim", claimed)
            await gate.send()
        assert call.cancel_called
        assert os.listdir(gate.gateway.vault.root / "Done") == ["go.md"]
        assert await gate.inbox() == ["Lunch?"]


async def test_a_rule_never_takes_what_a_person_approved_for_somebody_else(tmp_path):
    """Nobody who wrote "a forward to bob" had the messages in mind that a rule finds later."""
    text = TEXT.replace("email_send", "email_forward")
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        await fill(gate, ["one"])
        plan = await planned(gate, rule("{type: forward, to: bob@demo.example}"))
        path = write(gate, text)
        (item,) = (await run_rule(gate.gateway, plan.plan_id, scheduled=True)).results
        assert (item.send_status, await gate.inbox()) == ("needs_approval", [])
        assert path.exists()
        (waiting,) = await approvals.list_waiting(gate.gateway)
        await approvals.approve(gate.gateway, waiting.approval_id, who="a person", how="command line")
        assert await gate.inbox() == ["Fwd: one"]


async def test_a_refusal_names_what_is_to_be_approved_and_counts_the_files_that_approve_nothing(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        await gate.send(idempotency_key="k")
        (asked,) = (gate.gateway.vault.root / "Pending_Approval").iterdir()
        asked.rename(asked.parent.parent / "Approved" / asked.name)  # of Postroom's own: that is told elsewhere
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, TEXT.replace("bob@", "carol@"), "for carol.md")
        write(gate, TEXT.replace("approved", "pending"), "not yet.md")
        write(gate, "Go ahead.", "no approval.md")
        write(gate, TEXT, "other ending.txt")
        with pytest.raises(PermissionDenied) as refused:
            await gate.send(replace(MAIL, subject="Second"))
        wanted = {"type": "email_send", "to": "b***@demo.example", "thread_id": ""}
        assert refused.value.details == {**wanted, "ignored_files": 3}


async def test_a_file_is_given_back_where_another_process_has_sent_the_mail_under_the_same_key(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        first = await gate.send(idempotency_key="k")
        path = write(gate, name="second.md")
        monkeypatch.setattr(gate.gateway.store.keys, "look_up", lambda *_: None)  # it was free a moment ago
        again = await gate.send(idempotency_key="k")
        assert (again.status, again.send_id) == ("sent", first.send_id)
        assert (path.exists(), await gate.inbox()) == (True, ["Lunch?"])


@pytest.mark.parametrize(
    ("thread", "email", "told"),
    [
        (NotFound("?"), None, ("NOT_FOUND", "thread_gone")),
        (None, NotFound("?"), ("NOT_FOUND", "thread_gone")),
        (None, InvalidRequest("That is no id.", reason="invalid_argument"), ("INVALID_REQUEST", "invalid_argument")),
    ],
)
async def test_a_reply_to_what_cannot_be_is_refused_before_any_file_is_looked_for(
    tmp_path, monkeypatch, thread, email, told
):
    async with gate_rig(tmp_path, dialect="vault") as gate:
        found = {Kind.THREAD: thread, Kind.EMAIL: email}

        async def find(_gateway, kind, *_):
            return [found[kind] or Handle("alice", "1")]

        monkeypatch.setattr(type(gate.gateway.ids), "find", lambda _, *asked: find(*asked))
        with pytest.raises(PostroomError) as refused:
            await preapproved.reply(gate.gateway, "t1", "e1", composing.ReplyRequest("Yes"))
        assert (refused.value.code, refused.value.reason) == told


async def test_a_file_that_cannot_be_given_back_hides_no_reason(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        (await gate.meddle()).before = lambda _: SubmitOutcome("rejected", reason="550 no")
        claim = gate.gateway.vault.claim

        def stuck(path, folder):
            if folder == "Approved":
                raise InternalError("The file could not be moved.")
            return claim(path, folder)

        monkeypatch.setattr(gate.gateway.vault, "claim", stuck)
        assert (await gate.send()).message == "The provider refused it; nothing was sent. 550 no"


async def test_a_vault_that_cannot_be_made_hides_no_reason(tmp_path, monkeypatch):
    def full():
        raise OSError("The disk is full.")

    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        order = await gate.order()
        monkeypatch.setattr(gate.gateway.vault, "prepare", full)
        with pytest.raises(PermissionDenied, match="no file in the vault's Approved folder approves a message to b"):
            await send.send(gate.gateway, order)


async def test_a_reply_in_no_thread_is_approved_by_no_file(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate, "---\ntype: email_reply\nstatus: approved\n---\n")
        with pytest.raises(PermissionDenied):
            await handwritten.require(gate.gateway, handwritten.Wanted("email_reply", ""))


async def test_what_some_have_got_is_not_stopped_for_want_of_a_login_and_uses_its_file_up(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate, TEXT.replace("bob@demo.example", "[bob@demo.example, carol@demo.example]"))
        (await gate.meddle()).before = lambda _: SubmitOutcome(
            "retryable", accepted=("bob@demo.example",), reason="535 no", login_refused=True
        )
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        assert (view.accepted, path.exists()) == (("bob@demo.example",), False)
        (row,) = gate.gateway.store.outbox.list().items
        assert row.state is State.RETRYABLE


async def test_of_many_files_that_approve_nothing_the_newest_hundred_are_listed(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        for number in range(101):
            write(gate, REPLY, f"{number}.md")
        assert len(await approvals.unheeded(gate.gateway)) == 100


async def test_in_dev_mode_nothing_is_asked_of_anybody_and_that_is_said(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, dialect="vault", dev_mode=True) as gate:
        monkeypatch.setattr(gate.gateway.accounts, "open", None)
        said = SendView("dev_mode", "alice", "[DEV_MODE] Logged but not executed.")
        assert await preapproved.send_mail(gate.gateway, MAIL) == said


async def test_a_full_hour_is_told_before_the_provider_is_asked(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, dialect="vault", sends_per_hour=1) as gate:
        write(gate)
        assert (await preapproved.send_mail(gate.gateway, MAIL)).status == "sent"
        path = write(gate)
        monkeypatch.setattr(gate.gateway.accounts, "open", None)
        with pytest.raises(RateLimited):
            await preapproved.send_mail(gate.gateway, replace(MAIL, subject="Second"))
        assert path.exists()


@pytest.mark.parametrize("body", [" ", "a\0b", "x" * 100_001])
async def test_a_reply_that_nobody_could_send_is_refused_before_any_file_is_looked_for(tmp_path, body):
    async with gate_rig(tmp_path, dialect="vault") as gate:
        with pytest.raises(InvalidRequest) as refused:
            await preapproved.reply(gate.gateway, "t1", "e1", composing.ReplyRequest(body))
        assert refused.value.details == {"field": "body"}


async def test_no_file_approves_a_mail_to_nobody(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        write(gate)
        with pytest.raises(PermissionDenied):
            await handwritten.require(gate.gateway, handwritten.Wanted("email_send", ""))


async def test_a_refusal_is_told_as_such_though_the_login_was_refused_before(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate)
        gate.gateway.store.pauses.login_refused("alice", "535 no")
        gate.time.pass_(3600)
        (await gate.meddle()).before = lambda _: SubmitOutcome("rejected", reason="550 no")
        assert ((await gate.send()).status, path.exists()) == ("rejected", True)


async def test_a_refusal_after_some_have_got_it_uses_the_file_up(tmp_path):
    async with gate_rig(tmp_path, gate="approval", dialect="vault") as gate:
        path = write(gate, TEXT.replace("bob@demo.example", "[bob@demo.example, carol@demo.example]"))
        (await gate.meddle()).before = lambda _: SubmitOutcome("rejected", accepted=("bob@demo.example",))
        view = await gate.send(replace(MAIL, cc=("carol@demo.example",)))
        assert (view.accepted, path.exists()) == (("bob@demo.example",), False)


async def test_a_full_hour_is_told_before_a_reply_is_written(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, dialect="vault", sends_per_hour=1) as gate:
        write(gate)
        await preapproved.send_mail(gate.gateway, MAIL)
        write(gate, "---\ntype: email_reply\nstatus: approved\nthread_id: t1\n---\n")

        async def find(*_):
            return [Handle("alice", "1")]

        monkeypatch.setattr(type(gate.gateway.ids), "find", find)
        monkeypatch.setattr(gate.gateway.accounts, "open", None)
        with pytest.raises(RateLimited):
            await preapproved.reply(gate.gateway, "t1", "e1", composing.ReplyRequest("Yes"))
