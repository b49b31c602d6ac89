"""Mail that the provider writes by a verb of its own: shown whole, approved whole, and checked against the original."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import ACCOUNTS, CONFIRMED, MAIL, GateRig, gate_rig
from tests.gate.transports import Acts, acting

from postroom.model.address import Address
from postroom.model.draft import Importance
from postroom.model.errors import Conflict, InternalError, InvalidRequest, NotFound, PermissionDenied
from postroom.model.message import Message
from postroom.model.native import NativeAction, Recipients, freeze, thaw
from postroom.model.query.tree import In, Query
from postroom.providers.layers.layered import unwrapped
from postroom.service import presenting
from postroom.service.accounts.identities import create_alias
from postroom.service.attachment_files import EncodedFile
from postroom.service.reading import search
from postroom.service.sending import order as orders
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.letter import preview_of
from postroom.service.sending.order import Answered, Order, Wishes
from postroom.service.writing import composing
from postroom.service.writing import draft as drafts
from postroom.store import State

NATIVE = replace(CONFIRMED, native=True)
WORDS = "I would rather say one."
EVE = Address("eve@evil.example")
FILE = EncodedFile("plan.txt", "cGxhbg==", "text/plain")


@asynccontextmanager
async def native_rig(home: Path, **settings: Any) -> AsyncIterator[tuple[GateRig, Acts, str]]:
    """Alice has a mail from bob, of which carol got a copy; and the id of that mail."""
    async with gate_rig(home, **settings) as gate:
        yield gate, await acting(gate), await mail_from_bob(gate)


async def mail_from_bob(gate: GateRig) -> str:
    bob = await gate.gateway.accounts.open("bob")
    if not (await search.list_emails(gate.gateway, account="alice")).results:
        draft = composing.DraftRequest(
            to=("alice@demo.example",), cc=("carol@demo.example",), subject="Lunch?", body="Shall we say noon?"
        )
        order = await send.order_mail(gate.gateway, draft, CONFIRMED, "bob")
        await bob.transport.submit(gate.gateway.store.outbox.request(prepared(gate, order)))
    return (await search.list_emails(gate.gateway, account="alice")).results[0].email_id


def prepared(gate: GateRig, order: Order) -> str:
    """On its way without the gate: what others write is none of its business."""
    return gate.gateway.store.outbox.prepare(order.as_send()).send_id


async def reply(gate: GateRig, email_id: str, wishes: Wishes = NATIVE, **request: Any) -> Order:
    return await send.order_reply(gate.gateway, email_id, composing.ReplyRequest(WORDS, **request), wishes)


async def forward(gate: GateRig, email_id: str, wishes: Wishes = NATIVE, comment: str = "") -> Order:
    request = composing.ForwardRequest(to=("carol@demo.example",), comment=comment)
    return await send.order_forward(gate.gateway, email_id, request, wishes)


def sent_from_alice(gate: GateRig) -> Any:
    (found,) = gate.gateway.store.outbox.list(account="alice").items
    return found


@pytest.mark.parametrize("reply_all", [False, True])
async def test_a_reply_is_written_by_the_provider_to_those_it_names(tmp_path, reply_all):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        order = await reply(gate, email_id, reply_all=reply_all)
        view = await send.send(gate.gateway, order)
        (request,) = acts.submitted
        assert view.status == "sent"
        assert (request.raw, request.native.kind) == (b"", "reply_all" if reply_all else "reply")
        assert request.native.text == WORDS
        assert await gate.inbox("bob") == ["Re: Lunch?"]
        assert ("Re: Lunch?" in await gate.inbox("carol")) is reply_all
        assert set(view.accepted) == {"bob@demo.example"} | ({"carol@demo.example"} if reply_all else set())
        assert gate.gateway.store.recipients.known("alice", ["bob@demo.example"])


async def test_a_new_mail_and_a_forward_too(tmp_path):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        assert (await gate.send(native=True)).status == "sent"
        assert (await send.send(gate.gateway, await forward(gate, email_id))).status == "sent"
        assert [request.native.kind for request in acts.submitted] == ["send", "forward"]
        assert await gate.inbox("bob") == ["Lunch?"]
        assert "Fwd: Lunch?" in await gate.inbox("carol")


async def test_what_came_to_another_address_is_answered_and_forwarded_from_there_and_composed_here(tmp_path):
    sales = "sales@demo.example"
    raw = f"From: bob@demo.example\r\nTo: {sales}\r\nMessage-ID: <o@demo.example>\r\nSubject: Price?\r\n\r\nHi\r\n"
    async with native_rig(tmp_path) as (gate, _, _):
        await create_alias(gate.gateway, sales, account="alice")
        await unwrapped((await gate.gateway.accounts.open("alice")).mailbox).add_message(raw.encode())
        (row,) = (await search.search_emails(gate.gateway, "subject:Price", account="alice")).results
        for order in (await reply(gate, row.email_id), await forward(gate, row.email_id)):
            assert (order.native, order.draft.sender.email) == (None, sales)


@pytest.mark.parametrize("said", [{"body": "x" * 100_001}, {"body": "x", "body_html": "a\0b"}])
async def test_a_reply_that_is_too_long_or_cannot_be_written_is_refused_though_the_provider_would_write_it(
    tmp_path, said
):
    async with native_rig(tmp_path) as (gate, _, email_id):
        with pytest.raises(InvalidRequest) as refusal:
            await send.order_reply(gate.gateway, email_id, composing.ReplyRequest(**said), NATIVE)
        assert refusal.value.details == {"field": list(said)[-1]}


async def test_html_that_the_provider_just_sent_is_noticed_by_what_it_says(tmp_path):
    noon, one = (replace(MAIL, body_html=f"<p>Shall we say {hour}?</p>") for hour in ("noon", "one"))
    async with native_rig(tmp_path) as (gate, acts, _):
        views = [await gate.send(mail, native=True) for mail in (noon, noon, one)]
        assert ["duplicate" in view.findings for view in views] == [False, True, False]
        assert len(acts.submitted) == 3


async def test_a_forward_that_was_just_made_is_noticed_though_the_provider_leaves_the_signature_out(tmp_path):
    accounts = [
        {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db", "signature": "Me"}
        for name in ACCOUNTS
    ]
    async with native_rig(tmp_path, accounts=accounts) as (gate, _, email_id):
        first = await send.send(gate.gateway, await forward(gate, email_id, comment=WORDS))
        again = await send.send(gate.gateway, await forward(gate, email_id, comment=WORDS))
        other = await send.send(gate.gateway, await forward(gate, email_id, comment="Look at this."))
        assert ["duplicate" in view.findings for view in (first, again, other)] == [False, True, False]


@pytest.mark.parametrize(
    ("wishes", "request_", "kinds"),
    [
        (CONFIRMED, {}, {"reply"}),
        (NATIVE, {}, {"reply_all"}),
        (NATIVE, {"quote": False}, {"reply"}),
        (NATIVE, {"identity": "alice@demo.example"}, {"reply"}),
    ],
)
async def test_what_nobody_wants_or_the_provider_cannot_say_is_composed_as_ever(tmp_path, wishes, request_, kinds):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        acts.native_kinds = frozenset(kinds)
        order = await reply(gate, email_id, wishes, **request_)
        assert order.native is None
        assert b"Subject: Re: Lunch?" in order.raw
        assert (await send.send(gate.gateway, order)).status == "sent"
        assert acts.submitted[0].native is None


@pytest.mark.parametrize(
    "request_", [{"encoded_files": (FILE,)}, {"to_author": True}, {"identity": "alice@demo.example"}]
)
async def test_a_reply_that_asks_for_more_than_a_verb_can_say_is_composed(tmp_path, request_):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        order = await reply(gate, email_id, **request_)
        assert (order.native, (await send.send(gate.gateway, order)).status) == (None, "sent")
        assert acts.submitted[0].raw.count(b"plan.txt") == order.raw.count(b"plan.txt")
        assert (b"plan.txt" in order.raw) is ("encoded_files" in request_)


@pytest.mark.parametrize("way", ["files", "answers", "reply_to", "identity", "nothing more"])
async def test_a_new_mail_that_asks_for_more_than_a_verb_can_say_is_composed(tmp_path, way):
    async with native_rig(tmp_path) as (gate, _, email_id):
        more: dict[str, Any] = {
            "files": {"encoded_files": (FILE,)},
            "answers": {"in_reply_to": email_id},
            "reply_to": {"reply_to": ("alice@demo.example",)},
            "identity": {"identity": "alice@demo.example"},
            "nothing more": {"importance": "high", "body_html": "<p>Noon?</p>", "cc": ("carol@demo.example",)},
        }
        order = await gate.order(replace(MAIL, **more[way]), NATIVE)
        assert (order.native is None) is (way != "nothing more")


async def test_where_the_original_is_not_handed_out_a_native_forward_says_the_comment_alone(tmp_path, monkeypatch):
    """The provider puts the original below; a second copy of it in the text would be one too many."""
    async with native_rig(tmp_path) as (gate, _, email_id):
        opened = await gate.gateway.accounts.open("alice")
        monkeypatch.setattr(opened, "capabilities", replace(opened.capabilities, has_raw=False))
        order = await forward(gate, email_id, comment="See below.")
        assert order.native.text == "See below."


async def test_a_draft_is_never_left_to_the_provider_as_an_original(tmp_path):
    """It can still change in what no digest covers: another file of the same name and size."""
    async with native_rig(tmp_path) as (gate, _, email_id):
        saved = await drafts.create_draft(gate.gateway, MAIL)
        for order in (await forward(gate, saved.email_id), await reply(gate, saved.email_id)):
            assert order.native is None
        assert (await forward(gate, email_id)).native is not None


async def test_where_the_provider_has_no_verbs_a_native_wish_changes_nothing(tmp_path):
    async with gate_rig(tmp_path) as gate:
        order = await gate.order(wishes=NATIVE)
        assert (order.native, order.digest) == (None, (await gate.order()).digest)
        assert (await gate.send(native=True)).status == "sent"


async def test_everyone_it_will_reach_stands_in_the_preview_and_in_the_approval_file(tmp_path):
    async with native_rig(tmp_path, gate="approval") as (gate, _, email_id):
        shown = await send.send(
            gate.gateway, await reply(gate, email_id, replace(NATIVE, confirm=False), reply_all=True)
        )
        assert (shown.preview.to, shown.preview.cc) == (("bob@demo.example",), ("carol@demo.example",))
        assert shown.preview.body_excerpt == WORDS
        assert (shown.preview.subject, shown.preview.original_subject) == ("Re: Lunch?", "Lunch?")
        assert "The provider composes this reply itself" in shown.preview.notes[-1]
        asked = await send.send(gate.gateway, await reply(gate, email_id, reply_all=True))
        letter = await approvals.show(gate.gateway, asked.approval.approval_id)
        for said in ("To: bob@demo.example", "Cc: carol@demo.example", WORDS, "> Shall we say noon?"):
            assert said in letter
        assert "## The message being replied to, as text" in letter


async def test_the_lists_of_recipients_see_whom_the_provider_adds(tmp_path):
    async with native_rig(tmp_path, block_recipients=["carol@demo.example"]) as (gate, acts, email_id):
        with pytest.raises(PermissionDenied, match="block list"):
            await send.send(gate.gateway, await reply(gate, email_id, reply_all=True))
        assert (await send.send(gate.gateway, await reply(gate, email_id))).status == "sent"
        assert len(acts.submitted) == 1


async def test_strangers_whom_the_provider_adds_are_strangers(tmp_path):
    async with native_rig(tmp_path, gate="auto") as (gate, acts, email_id):
        view = await send.send(gate.gateway, await reply(gate, email_id, reply_all=True))
        assert view.status == "needs_approval"
        assert "Never written to before: bob@demo.example, carol@demo.example." in view.warnings
        assert acts.submitted == []


async def test_a_forward_that_a_person_approves_by_file_leaves_once(tmp_path):
    async with native_rig(tmp_path, gate="approval") as (gate, acts, email_id):
        asked = await send.send(gate.gateway, await forward(gate, email_id, comment="See below."))
        assert asked.status == "needs_approval"
        (path,) = (gate.gateway.vault.root / "Pending_Approval").glob("*.md")
        assert "Forwards:\n  Lunch?\n  from bob@demo.example" in path.read_text()
        assert "the complete original message" not in path.read_text(), "the provider puts it below, not beside"
        path.write_text(path.read_text().replace("status: pending", "status: approved"))
        path.rename(gate.gateway.vault.root / "Approved" / path.name)
        for _ in range(2):
            await worker.work_once(gate.gateway)
        assert [request.native.kind for request in acts.submitted] == ["forward"]
        assert "Fwd: Lunch?" in await gate.inbox("carol")
        again = await send.send(gate.gateway, await forward(gate, email_id, comment="See below."))
        assert (again.status, len(acts.submitted)) == ("already_executed", 1)


async def test_someone_who_came_into_the_original_after_the_approval_gets_nothing(tmp_path):
    async with native_rig(tmp_path, gate="approval") as (gate, acts, email_id):
        asked = await send.send(gate.gateway, await reply(gate, email_id, reply_all=True))
        acts.joined = (EVE,)
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "needs_human"
        assert "other recipients than those who were approved" in view.message
        await worker.work_once(gate.gateway)
        assert acts.submitted == []
        assert sent_from_alice(gate).state is State.NEEDS_HUMAN


async def test_whoever_waits_for_it_is_told_that_the_original_has_changed(tmp_path):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        order = await reply(gate, email_id, reply_all=True)
        acts.joined = (EVE,)
        with pytest.raises(Conflict, match="other recipients than those who were approved"):
            await send.send(gate.gateway, order)
        assert acts.submitted == []
        assert sent_from_alice(gate).state is State.CANCELLED


async def test_an_original_that_says_something_else_by_now_does_not_go_along(tmp_path, monkeypatch):
    async with native_rig(tmp_path, gate="approval") as (gate, acts, email_id):
        asked = await send.send(gate.gateway, await forward(gate, email_id))
        real = acts.mailbox.fetch

        async def changed(ref: str) -> Message:
            original: Message = await real(ref)
            return replace(original, body=replace(original.body, text="All our secrets."))

        monkeypatch.setattr(acts.mailbox, "fetch", changed)
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert view.status == "needs_human"
        assert "the original message has changed since this was approved" in view.message
        assert acts.submitted == []


@pytest.mark.parametrize("way", ["forward", "reply_all"])
async def test_an_original_that_is_gone_is_not_answered(tmp_path, monkeypatch, way):
    async with native_rig(tmp_path, gate="approval") as (gate, acts, email_id):
        order = await (forward(gate, email_id) if way == "forward" else reply(gate, email_id, reply_all=True))
        asked = await send.send(gate.gateway, order)

        async def gone(ref: str) -> Message:
            raise NotFound(f"There is no message {ref}.")

        monkeypatch.setattr(acts.mailbox, "fetch", gone)
        view = await approvals.approve(gate.gateway, asked.approval.approval_id, who="ada", how="test")
        assert (view.status, acts.submitted) == ("needs_human", [])
        assert "is gone" in view.message


async def test_who_waits_is_told_that_the_original_is_gone(tmp_path, monkeypatch):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        order = await forward(gate, email_id)

        async def gone(ref: str) -> Message:
            raise NotFound(f"There is no message {ref}.")

        monkeypatch.setattr(acts.mailbox, "fetch", gone)
        with pytest.raises(Conflict, match="replies to or forwards is gone") as refusal:
            await send.send(gate.gateway, order)
        assert (refusal.value.reason, acts.submitted) == ("email_gone", [])


async def test_a_verb_that_the_provider_has_lost_is_not_asked_for(tmp_path):
    async with native_rig(tmp_path, hold_seconds=1) as (gate, acts, email_id):
        await send.send(gate.gateway, await reply(gate, email_id))
        acts.native_kinds = frozenset()
        gate.time.pass_(2)
        await worker.work_once(gate.gateway)
        row = sent_from_alice(gate)
        assert (row.state, acts.submitted) == (State.NEEDS_HUMAN, [])
        assert row.outcome["reason"] == "The provider no longer offers a reply action of its own."


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("send", "The provider composes this message itself, from this text."),
        ("reply", "The provider composes this reply itself, with the original message below this text."),
        (
            "reply_all",
            (
                "The provider composes this reply itself: it adds everyone listed above, and puts the original message "
                "below this text."
            ),
        ),
        ("forward", "The provider forwards the original itself, with its attachments, below this text."),
    ],
)
async def test_the_person_is_told_what_the_provider_does_by_itself(tmp_path, way, said):
    async with native_rig(tmp_path) as (gate, _, email_id):
        if way == "send":
            order = await gate.order(wishes=NATIVE)
        elif way == "forward":
            order = await forward(gate, email_id)
        else:
            order = await reply(gate, email_id, reply_all=way == "reply_all")
        assert (order.native.kind, preview_of(order).notes[-1]) == (way, said)


TAMPERING = {
    "the words": "UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'one', 'ten') AS BLOB)",
    "the verb": "UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'reply_all', 'reply') AS BLOB)",
    "the original": "UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'original_ref\":\"', "
    "'original_ref\":\"9') AS BLOB)",
    "a recipient": "UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'carol@', 'cathy@') AS BLOB)",
    "the form": "UPDATE outbox SET native = 0",
    "the envelope": "UPDATE outbox SET recipients = replace(recipients, 'carol@', 'cathy@')",
    "all of it": "UPDATE outbox_raw SET raw = '{}'",
}


@pytest.mark.parametrize("what", TAMPERING)
async def test_whatever_is_changed_after_the_approval_keeps_it_from_leaving(tmp_path, what):
    async with native_rig(tmp_path, gate="approval") as (gate, acts, email_id):
        asked = await send.send(gate.gateway, await reply(gate, email_id, reply_all=True))
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            assert tampering.execute(f"{TAMPERING[what]} WHERE send_id = ?", (asked.send_id,)).rowcount == 1
        with pytest.raises(PermissionDenied, match="not the one that approval was requested for"):
            await approvals.show(gate.gateway, asked.approval.approval_id)
        gate.gateway.store.approvals.approve(asked.approval.approval_id, who="ada", how="test")
        await worker.work_once(gate.gateway)
        assert acts.submitted == []
        assert gate.gateway.store.outbox.get(asked.send_id).state is State.NEEDS_HUMAN


async def test_a_slip_in_freezing_an_action_is_noticed_before_anything_leaves(tmp_path, monkeypatch):
    """The digest covers the slip as well, so only the action itself can tell."""
    async with native_rig(tmp_path) as (gate, acts, email_id):

        def slipping(action: NativeAction) -> bytes:
            return freeze(replace(action, named=Recipients(bcc=(EVE,))))

        monkeypatch.setattr(orders, "freeze", slipping)
        with pytest.raises(InternalError, match="names a recipient who was not approved"):
            await send.send(gate.gateway, await reply(gate, email_id))
        assert acts.submitted == []


async def test_a_lost_answer_is_found_out_about_and_not_asked_for_twice(tmp_path):
    async with native_rig(tmp_path) as (gate, acts, email_id):

        def lost(_: str) -> None:
            raise ConnectionResetError

        acts.after = lost
        view = await send.send(gate.gateway, await reply(gate, email_id, replace(NATIVE, idempotency_key="k")))
        assert view.status == "sent"
        repeated = await reply(gate, email_id, replace(NATIVE, idempotency_key="k"))
        assert (await send.send(gate.gateway, repeated)).status == "already_executed"
        assert len(acts.submitted) == 1


async def test_an_action_that_was_changed_after_its_answer_was_lost_is_put_before_a_person(tmp_path):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        out = gate.gateway.store.outbox
        lost = out.reserve(out.prepare((await reply(gate, email_id)).as_send()).send_id).send
        for state in (State.STAGED, State.SENDING, State.UNKNOWN):
            lost = out.advance(lost.send_id, expect=lost.state, to=state)
        with sqlite3.connect(tmp_path / "state.db") as tampering:
            tampering.execute("UPDATE outbox_raw SET raw = '{}' WHERE send_id = ?", (lost.send_id,))
        await worker.work_once(gate.gateway)
        stopped = out.get(lost.send_id)
        assert (stopped.state, stopped.doubtful, acts.submitted) == (State.NEEDS_HUMAN, True, [])
        assert "the message in the outbox is not what was approved" in stopped.outcome["reason"]
        assert (await approvals.resolve(gate.gateway, lost.send_id, "sent")).status == "sent"


async def test_a_question_names_them_all_and_its_answer_releases_just_that(tmp_path):
    async with native_rig(tmp_path, gate="elicit") as (gate, acts, email_id):
        askable = replace(NATIVE, can_elicit=True)
        question = await send.question(gate.gateway, await reply(gate, email_id, askable, reply_all=True))
        assert "Cc: carol@demo.example" in question.text
        answered = replace(askable, answer=Answered("accepted", question.send_id))
        other = await reply(gate, email_id, answered)
        with pytest.raises(Conflict):
            await send.send(gate.gateway, other)
        assert acts.submitted == []


async def test_a_second_reply_of_the_same_words_is_warned_of(tmp_path):
    async with native_rig(tmp_path) as (gate, _, email_id):
        await send.send(gate.gateway, await reply(gate, email_id))
        again = await send.send(gate.gateway, await reply(gate, email_id))
        assert "A message with the same recipients, subject and opening was just sent." in again.warnings


async def test_the_mail_that_was_answered_is_marked_and_the_list_names_the_reply(tmp_path):
    async with native_rig(tmp_path) as (gate, _, email_id):
        await send.send(gate.gateway, await reply(gate, email_id))
        opened = await gate.gateway.accounts.open("alice")
        (original,) = (await opened.mailbox.search(Query(In("INBOX")), limit=9, offset=0)).items
        (listed,) = (await outbox.list_outbox(gate.gateway, account="alice", include_finished=True)).results
        assert (original.answered, listed.subject, listed.kind) == (True, "Re: Lunch?", "email_reply")


async def test_an_empty_reply_is_refused(tmp_path):
    async with native_rig(tmp_path) as (gate, acts, email_id):
        order = await send.order_reply(gate.gateway, email_id, composing.ReplyRequest(""), NATIVE)
        with pytest.raises(InvalidRequest, match="body is empty"):
            await send.send(gate.gateway, order)
        assert acts.submitted == []


ACTION = NativeAction(
    "reply_all", "m1", Recipients(bcc=(Address("c@x.example"),)), Recipients((Address("b@x.example", "B"),)),
    "Re: Hi", "text", "<p>html</p>", Importance.HIGH, "00",
)  # fmt: skip
OTHERS = {
    "kind": "reply",
    "original_ref": "m2",
    "named": Recipients(cc=(Address("c@x.example"),)),
    "everyone": Recipients((Address("b@x.example", "C"),)),
    "subject": "Re: Ho",
    "text": "texts",
    "html": "",
    "importance": Importance.LOW,
    "original_sha256": "01",
    "start": "2027-01-15T00:00:00+00:00",
    "end": "2027-01-16T00:00:00+00:00",
}


@pytest.mark.parametrize("field", [field.name for field in fields(NativeAction)])
def test_an_action_that_differs_in_anything_has_another_frozen_form(field: str) -> None:
    other = replace(ACTION, **{field: OTHERS[field]})
    assert freeze(other) != freeze(ACTION)
    assert (thaw(freeze(ACTION)), thaw(freeze(other))) == (ACTION, other)


@pytest.mark.parametrize(
    "frozen",
    [
        *(b"", b"[]", b"{}", b"7", freeze(ACTION) + b" ", freeze(ACTION).replace(b'"kind"', b'"kin"')),
        pytest.param(b"[" * 100_000, id="deeper than can be read"),
    ],
)
def test_what_is_no_frozen_action_is_none(frozen: bytes) -> None:
    with pytest.raises(ValueError, match="not a frozen action"):
        thaw(frozen)


async def test_the_digest_tells_a_native_reply_from_a_composed_one_and_one_original_from_another(tmp_path):
    async with native_rig(tmp_path) as (gate, _, email_id):
        native = await reply(gate, email_id, reply_all=True)
        assert native.digest == (await reply(gate, email_id, reply_all=True)).digest
        saved = await drafts.create_draft(gate.gateway, MAIL)
        others = [
            await reply(gate, email_id, CONFIRMED, reply_all=True),
            await reply(gate, email_id),
            await reply(gate, email_id, reply_all=True, importance="high"),
            await reply(gate, email_id, reply_all=True, body_html=f"<p>{WORDS}</p>"),
            await reply(gate, email_id, replace(NATIVE, save_to_sent=False), reply_all=True),
            await reply(gate, saved.email_id, reply_all=True),
        ]
        assert len({native.digest, *(order.digest for order in others)}) == 7


async def test_a_file_that_came_within_the_call_is_never_left_out(tmp_path):
    """An action carries no files, so a message with one is composed."""
    encoded = (EncodedFile("plan.txt", "UGxhbg=="),)
    async with native_rig(tmp_path) as (gate, acts, email_id):
        assert (await gate.send(replace(MAIL, encoded_files=encoded), native=True)).status == "sent"
        assert (await send.send(gate.gateway, await reply(gate, email_id, encoded_files=encoded))).status == "sent"
        assert [b"plan.txt" in request.raw for request in acts.submitted] == [True, True]


async def test_a_reply_to_the_author_alone_is_not_left_to_a_provider_that_heeds_reply_to(tmp_path):
    async with native_rig(tmp_path) as (gate, _, email_id):
        assert (await reply(gate, email_id, to_author=True)).native is None


async def test_marking_the_original_is_left_to_the_provider_that_wrote_the_answer(tmp_path):
    """A login that may read and send, and nothing else, gets no warning about it."""
    async with native_rig(tmp_path) as (gate, acts, email_id):
        acts.marks = False
        mailbox = (await gate.gateway.accounts.open("alice")).mailbox
        view = await send.send(gate.gateway, await reply(gate, email_id))
        (original,) = await mailbox.envelopes([(await presenting.locate(gate.gateway, email_id, None))[1]])
        assert (view.status, view.warnings[1:], original.answered) == ("sent", (), False)
