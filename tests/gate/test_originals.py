"""The mail that is answered or forwarded is marked once the answer was accepted, whenever that is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.gate.rigs import CONFIRMED, gate_rig
from tests.gate.test_native import native_rig

from postroom.model.errors import NotFound, PermissionDenied, ProviderUnavailable, Unsupported
from postroom.model.outcome import ItemResult, SubmitOutcome
from postroom.model.query.tree import Query
from postroom.providers.layers.layered import unwrapped
from postroom.service.organising import organise
from postroom.service.reading import search
from postroom.service.sending import send, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.order import Wishes
from postroom.service.sending.originals import mark_original
from postroom.service.writing import composing, draft

LETTER = composing.DraftRequest(to=("alice@demo.example",), subject="Lunch?", body="Shall we say noon?")
ANSWER = composing.ReplyRequest("Gladly.")


async def received(gate):
    """A mail that lies in alice's inbox, by its id there."""
    await send.send(gate.gateway, await send.order_mail(gate.gateway, LETTER, CONFIRMED, "bob"))
    return (await search.list_emails(gate.gateway, account="alice")).results[0].email_id


async def marks(gate):
    found = {}
    for flag in ("answered", "forwarded"):
        page = await search.search_emails(gate.gateway, f"is:{flag} in:anywhere", account="alice")
        found[flag] = [row.email_id for row in page.results]
    return found


async def reply(gate, email_id, wishes=CONFIRMED):
    return await send.send(gate.gateway, await send.order_reply(gate.gateway, email_id, ANSWER, wishes))


async def test_a_reply_marks_the_original_answered_and_a_preview_does_not(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        await reply(gate, email_id, Wishes())
        assert await marks(gate) == {"answered": [], "forwarded": []}
        assert (await reply(gate, email_id)).status == "sent"
        assert await marks(gate) == {"answered": [email_id], "forwarded": []}


async def test_a_new_mail_that_says_what_it_answers_is_a_reply_and_marks_it(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        request = replace(LETTER, to=("bob@demo.example",), subject="Re: Lunch?", in_reply_to=email_id)
        order = await gate.order(request)
        assert (order.tool, order.kind) == ("send_email", "email_reply")
        assert (await send.send(gate.gateway, order)).status == "sent"
        assert await marks(gate) == {"answered": [email_id], "forwarded": []}


async def test_a_forward_marks_the_original_forwarded(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        request = composing.ForwardRequest(to=("carol@demo.example",))
        view = await send.send(gate.gateway, await send.order_forward(gate.gateway, email_id, request, CONFIRMED))
        assert view.status == "sent"
        assert await marks(gate) == {"answered": [], "forwarded": [email_id]}


async def test_a_scheduled_reply_marks_the_original_when_it_leaves_wherever_that_lies_by_then(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        later = gate.gateway.now() + timedelta(hours=1)
        assert (await reply(gate, email_id, Wishes(confirm=True, send_at=later))).status == "scheduled"
        await organise.move(gate.gateway, [email_id], "Archive")
        assert (await marks(gate))["answered"] == []
        gate.time.pass_(3601)
        await worker.work_once(gate.gateway)
        assert (await marks(gate))["answered"] == [email_id]


async def test_an_original_that_was_thrown_away_meanwhile_is_marked_in_the_trash(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        later = gate.gateway.now() + timedelta(hours=1)
        await reply(gate, email_id, Wishes(confirm=True, send_at=later))
        await organise.delete(gate.gateway, [email_id])
        gate.time.pass_(3601)
        await worker.work_once(gate.gateway)
        assert (await marks(gate))["answered"] == [email_id]


async def test_an_approved_reply_marks_the_original(tmp_path):
    async with gate_rig(tmp_path, gate="confirm") as gate:
        email_id = await received(gate)
        asked = await reply(gate, email_id, Wishes(confirm=True, require_approval=True))
        await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert (await marks(gate))["answered"] == [email_id]


@pytest.mark.parametrize("flag", ["answered", "forwarded"])
async def test_a_draft_that_is_sent_marks_the_mail_it_was_written_to(tmp_path, flag):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        if flag == "answered":
            saved = await draft.draft_reply(gate.gateway, email_id, ANSWER)
        else:
            saved = await draft.draft_forward(
                gate.gateway, email_id, composing.ForwardRequest(to=("carol@demo.example",))
            )
        view = await send.send(gate.gateway, await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED))
        assert view.status == "sent"
        assert (await marks(gate))[flag] == [email_id]


async def test_a_reply_that_was_refused_marks_nothing(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        (await gate.meddle()).before = lambda _: SubmitOutcome("rejected", reason="no")
        assert (await reply(gate, email_id)).status == "rejected"
        assert (await marks(gate))["answered"] == []


async def test_a_mark_that_cannot_be_set_is_a_warning_and_the_mail_is_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        account = await gate.gateway.accounts.open("alice")

        async def away(*_args, **_kwargs):
            raise ProviderUnavailable("The server is away.")

        account.mailbox.set_flags = away
        view = await reply(gate, email_id)
        assert view.status == "sent"
        assert any("could not be marked as answered" in warning for warning in view.warnings)


@pytest.mark.parametrize("way", ["raised", "told"])
@pytest.mark.parametrize(
    ("error", "warned"),
    [
        (PermissionDenied("The login does not include it."), ""),
        (NotFound("It was deleted."), ""),
        (Unsupported("imap", "such marks"), ""),
        (
            ProviderUnavailable("It is away."),
            "The message was sent, but the original could not be marked as answered. It is away.",
        ),
    ],
)
async def test_only_what_somebody_could_mend_is_warned_of(tmp_path, error, warned, way):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        account = await gate.gateway.accounts.open("alice")

        async def troubled(refs, **_kwargs):
            if way == "raised":
                raise error
            return [ItemResult("another copy"), *(ItemResult(ref, error) for ref in refs)]

        account.mailbox.set_flags = troubled
        view = await reply(gate, email_id)
        assert (view.status, [each for each in view.warnings if "marked" in each]) == ("sent", [warned] * bool(warned))


async def test_what_the_provider_answers_by_its_own_action_it_marks_itself(tmp_path):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        mailbox, marked = (await gate.gateway.accounts.open("alice")).mailbox, []
        set_flags = mailbox.set_flags

        async def noted(refs, **flags):
            marked.append(len(acts.submitted))
            return await set_flags(refs, **flags)

        mailbox.set_flags = noted
        view = await reply(gate, email_id, replace(CONFIRMED, native=True))
        assert (view.status, marked) == ("sent", [1])  # by the action, and not once more


async def test_only_the_mail_itself_is_marked_whatever_else_a_server_finds_for_its_id(tmp_path, monkeypatch):
    original = b"From: bob@demo.example\r\nMessage-ID: <o@demo.example>\r\nSubject: Q\r\n\r\nHi\r\n"
    async with gate_rig(tmp_path) as gate:
        mailbox = unwrapped((await gate.gateway.accounts.open("alice")).mailbox)
        await mailbox.add_message(original)
        await mailbox.add_message(original.replace(b"<o@", b"<p@"))
        await mailbox.create_draft(original)  # somebody's reworking of it
        saved = await draft.create_draft(gate.gateway, replace(LETTER, to=("bob@demo.example",)))
        sent = (await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)).as_send()
        found, flags = mailbox.search, []

        async def too_much(_query, **page):
            return await found(Query(anywhere=True), **page)

        async def marked(refs, **_kwargs):
            flags.extend(await mailbox.envelopes(refs))
            return [ItemResult(ref) for ref in refs]

        account = await gate.gateway.accounts.open("alice")
        monkeypatch.setattr(account.mailbox, "search", too_much, raising=False)
        monkeypatch.setattr(account.mailbox, "set_flags", marked, raising=False)
        row = gate.gateway.store.outbox.prepare(replace(sent, answers_ref="<o@demo.example>"))
        assert await mark_original(gate.gateway, row) == ""
        assert [(mail.message_id, mail.draft) for mail in flags] == [("<o@demo.example>", False)]


@pytest.mark.parametrize(("copies", "marked"), [(20, 20), (21, 20)])
async def test_of_an_original_that_lies_in_many_folders_at_most_twenty_copies_are_marked(tmp_path, copies, marked):
    async with gate_rig(tmp_path) as gate:
        mailbox = unwrapped((await gate.gateway.accounts.open("alice")).mailbox)
        for _ in range(copies):
            await mailbox.add_message(
                b"From: bob@demo.example\r\nMessage-ID: <o@demo.example>\r\nSubject: Q\r\n\r\nHi\r\n"
            )
        await mailbox.create_draft(
            b"From: alice@demo.example\r\nTo: bob@demo.example\r\nSubject: Re: Q\r\nMessage-ID: <d@demo.example>\r\n"
            b"In-Reply-To: <o@demo.example>\r\n\r\nYes\r\n"
        )
        (shown,) = (await draft.list_drafts(gate.gateway)).results
        view = await send.send(gate.gateway, await send.order_draft(gate.gateway, shown.draft_id, CONFIRMED))
        assert view.status == "sent"
        answered = await search.search_emails(gate.gateway, "is:answered", account="alice", limit=100)
        assert len(answered.results) == marked


async def test_an_original_that_is_nowhere_any_more_is_not_asked_for(tmp_path):
    async with gate_rig(tmp_path) as gate:
        sent, asked = (await gate.order()).as_send(), []
        (await gate.gateway.accounts.open("alice")).mailbox.set_flags = lambda refs, **_: asked.append(refs)
        row = gate.gateway.store.outbox.prepare(replace(sent, answers_ref="<gone@demo.example>"))
        assert (await mark_original(gate.gateway, row), asked) == ("", [])


async def test_a_draft_that_is_sent_marks_the_mail_it_answers_also_in_the_trash(tmp_path):
    async with gate_rig(tmp_path) as gate:
        email_id = await received(gate)
        saved = await draft.draft_reply(gate.gateway, email_id, ANSWER)
        await organise.delete(gate.gateway, [email_id])
        await send.send(gate.gateway, await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED))
        assert (await marks(gate))["answered"] == [email_id]
