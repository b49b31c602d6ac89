"""What a caller is told of a send: a status and a sentence for each state. What may have left is not called unsent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.gate.rigs import MAIL, GateRig, gate_rig
from tests.unit.store.kit import a_send, brought_to

from postroom.model.errors import InvalidRequest, NotFound, PermissionDenied, RateLimited
from postroom.model.ids import Kind
from postroom.service.presenting import error_view
from postroom.service.sending import outbox, worker
from postroom.service.sending.receipts import already, receipt
from postroom.service.views import SendView
from postroom.store import Send, State
from postroom.store.handles import unknown

IN_HAND = "It is in the outbox and will be sent automatically. Call cancel_send to stop it before. why"
DECIDE = (
    "Do not send it again: a person must look at the outbox, outside this conversation, and decide what to do with it."
)
FINDING_OUT = "The provider's response was lost; Postroom is checking whether it was sent. Do not send it again."
TOLD = {
    State.PREPARED: ("held", IN_HAND),
    State.AWAITING_APPROVAL: ("needs_approval", "Nothing was sent yet: a person must approve it first."),
    State.APPROVED: ("held", IN_HAND),
    State.RESERVED: ("held", IN_HAND),
    State.STAGED: ("held", IN_HAND),
    State.SENDING: ("held", IN_HAND),
    State.ACCEPTED: ("sent", "Accepted by the provider for 0 recipients."),
    State.DONE: ("sent", "Accepted by the provider for 0 recipients."),
    State.REJECTED: ("rejected", "The provider refused it; nothing was sent. why"),
    State.RETRYABLE: ("held", "The provider has not accepted it yet; Postroom retries automatically. why"),
    State.UNKNOWN: ("unknown", FINDING_OUT),
    State.RECONCILING: ("unknown", FINDING_OUT),
    State.NEEDS_HUMAN: ("needs_human", f"It was not sent and will not be sent automatically: why {DECIDE}"),
    State.CANCELLED: ("cancelled", "It was cancelled; nothing was sent. why"),
    State.EXPIRED: ("rejected", "Nobody approved it in time; nothing was sent."),
    State.DROPPED: ("unknown", "A person dropped it: it may have been sent, and it will not be sent again."),
}
DOUBTFUL = {
    State.NEEDS_HUMAN: ("unknown", f"It is not known whether the provider accepted it. {DECIDE}"),
    State.RETRYABLE: (
        "unknown",
        "Postroom retries automatically, as a person decided; an earlier attempt may have been sent. why",
    ),
    State.CANCELLED: ("unknown", "It was stopped. It is not known whether an earlier attempt was sent."),
}
IN_PART = {
    State.NEEDS_HUMAN: (
        "unknown",
        f"The provider accepted it for 1 recipient and not for the others. why {DECIDE}",
    ),
    State.CANCELLED: ("rejected", "It was stopped, but the provider had already accepted it for 1 recipient."),
    State.DROPPED: ("rejected", "A person dropped it, but the provider had already accepted it for 1 recipient."),
}
NOT_AGAIN = DECIDE.replace("send it", "make it")
LEFT = "The list's server accepted the request to unsubscribe; no email was sent."
LOST = "The list's server did not answer the request to unsubscribe. Do not make it again."
OF_REQUESTS = {
    State.ACCEPTED: ("sent", LEFT),
    State.DONE: ("sent", LEFT),
    State.REJECTED: ("rejected", "The request to unsubscribe was not accepted. why"),
    State.RETRYABLE: ("held", "The request to unsubscribe will be made again automatically. why"),
    State.UNKNOWN: ("unknown", LOST),
    State.RECONCILING: ("unknown", LOST),
    State.NEEDS_HUMAN: (
        "needs_human",
        "The request to unsubscribe was not accepted and will not be made again automatically: why " + NOT_AGAIN,
    ),
}
REASON = {"reason": "why"}
SOME = {"reason": "why", "accepted": ["bob@example.org"]}


def a_row(gate: GateRig, state: State, **fields: object) -> Send:
    return replace(brought_to(gate.gateway.store, state, a_send(account="alice")), **fields)


def said(view: SendView) -> tuple[str, str]:
    return view.status, view.message


async def test_each_state_has_its_status_and_its_sentence(tmp_path):
    assert TOLD.keys() == set(State) - {State.HELD}
    async with gate_rig(tmp_path, sends_per_hour=99) as gate:
        for state, told in TOLD.items():
            row = a_row(gate, state, doubtful=False, outcome=REASON)
            assert said(await receipt(gate.gateway, row)) == told


async def test_each_state_of_a_request_to_a_list_has_its_own_sentence(tmp_path):
    async with gate_rig(tmp_path, sends_per_hour=99) as gate:
        for state, told in {**TOLD, **OF_REQUESTS}.items():
            row = a_row(gate, state, doubtful=False, outcome=REASON, kind="unsubscribe")
            assert said(await receipt(gate.gateway, row)) == told
        unclear = a_row(gate, State.NEEDS_HUMAN, doubtful=True, outcome=SOME, kind="unsubscribe")
        assert said(await receipt(gate.gateway, unclear)) == (
            "unknown",
            f"It is not known whether the list's server received the request to unsubscribe. {NOT_AGAIN}",
        )


async def test_a_vacation_reply_is_said_to_be_on_and_not_to_have_been_sent(tmp_path):
    on = ("sent", "The vacation reply is on; no email was sent yet.")
    refused = ("rejected", "The provider refused the vacation reply; nothing was changed. why")
    own = {State.ACCEPTED: on, State.DONE: on, State.REJECTED: refused}
    async with gate_rig(tmp_path, sends_per_hour=99) as gate:
        for state, told in {**TOLD, **own}.items():
            row = a_row(gate, state, doubtful=False, outcome=REASON, kind="vacation")
            assert said(await receipt(gate.gateway, row)) == told


async def test_what_may_have_left_is_not_said_not_to_have(tmp_path):
    async with gate_rig(tmp_path, sends_per_hour=99) as gate:
        for state in TOLD:
            row = a_row(gate, state, doubtful=True, outcome=REASON)
            assert said(await receipt(gate.gateway, row)) == {**TOLD, **DOUBTFUL}[state]


@pytest.mark.parametrize("doubtful", [False, True])
async def test_what_some_have_got_is_told_with_their_number(tmp_path, doubtful):
    async with gate_rig(tmp_path) as gate:
        for state, told in IN_PART.items():
            view = await receipt(gate.gateway, a_row(gate, state, doubtful=doubtful, outcome=SOME))
            assert (said(view), view.accepted) == (told, ("bob@example.org",))


async def test_a_person_s_word_comes_before_what_the_state_says(tmp_path):
    async with gate_rig(tmp_path) as gate:
        done = a_row(gate, State.DONE, outcome={"decided": "sent"})
        assert said(await receipt(gate.gateway, done)) == ("sent", "A person confirmed that it was sent.")
        both = replace(done, outcome={"decided": "sent", "accepted": ["bob@example.org"]})
        assert (await receipt(gate.gateway, both)).message == "Accepted by the provider for 1 recipient."
        refused = a_row(gate, State.CANCELLED, outcome={"decided": "refused"})
        assert said(await receipt(gate.gateway, refused)) == (
            "rejected",
            "The person who was asked refused it; nothing was sent. Ask them what to change.",
        )


async def test_a_receipt_names_the_send_and_all_that_came_of_it(tmp_path):
    outcome = {
        "accepted": ["bob@example.org"],
        "refused": {"eve@example.org": "550"},
        "warnings": ["odd"],
        "thread_ref": "t2",
    }
    async with gate_rig(tmp_path) as gate:
        row = a_row(gate, State.DONE, outcome=outcome, thread_ref="t1")
        view = await receipt(gate.gateway, row, ("careful",))
        assert (view.send_id, view.message_id, view.account) == (row.send_id, "<1@example.com>", "alice")
        assert (view.accepted, view.refused) == (("bob@example.org",), {"eve@example.org": "550"})
        assert view.warnings == ("careful", "odd")
        threads = [gate.gateway.store.handles.issue(Kind.THREAD, "alice", [ref])[0] for ref in ("t1", "t2")]
        assert view.thread_id == threads[1]
        assert (await receipt(gate.gateway, replace(row, outcome=None))).thread_id == threads[0]
        assert (await receipt(gate.gateway, replace(row, outcome=None, thread_ref=""))).thread_id == ""


@pytest.mark.parametrize(("send_at", "status"), [("", "held"), ("2027-01-15T08:00:00+00:00", "scheduled")])
async def test_what_leaves_later_says_when_and_how_to_stop_it(tmp_path, send_at, status):
    async with gate_rig(tmp_path) as gate:
        row = a_row(gate, State.HELD, not_before=1_800_000_000.0, send_at=send_at)
        assert said(await receipt(gate.gateway, row)) == (
            status,
            f"It will be sent at 2027-01-15T08:00:00+00:00. Call cancel_send {row.send_id} to stop it.",
        )


async def test_a_repeated_call_is_answered_with_the_first_result_and_says_so(tmp_path):
    async with gate_rig(tmp_path) as gate:
        sent = await already(gate.gateway, a_row(gate, State.DONE))
        assert said(sent) == (
            "already_executed",
            "Already executed, not sent again. Accepted by the provider for 0 recipients.",
        )
        cancelled = await already(gate.gateway, a_row(gate, State.CANCELLED))
        assert said(cancelled) == ("cancelled", "It was cancelled; nothing was sent.")


# --- the list of the outbox


async def test_a_row_of_the_outbox_tells_where_a_send_stands(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send(send_at=datetime.fromtimestamp(gate.time.wall + 7200, UTC))
        gate.time.pass_(60)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (row.send_id, row.account, row.kind) == (asked.send_id, "alice", "email_send")
        assert (row.state, row.recipients, row.attempts) == ("awaiting_approval", ("bob@demo.example",), 0)
        moments = [datetime.fromisoformat(shown) for shown in (row.created, row.updated, row.not_before)]
        asked_at = datetime(2027, 1, 15, 8, tzinfo=UTC)
        assert moments == [asked_at, asked_at, asked_at.replace(hour=10)]
        assert (row.reason, row.approval_id) == ("", asked.approval.approval_id)


async def test_the_outbox_is_told_page_by_page_of_one_account_or_all(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        for number in range(3):
            await gate.send(replace(MAIL, subject=str(number)))
            gate.time.pass_(1)
        page = await outbox.list_outbox(gate.gateway, limit=2)
        assert (len(page.results), page.total_count, page.limit, page.offset, page.has_more) == (2, 3, 2, 0, True)
        rest = await outbox.list_outbox(gate.gateway, account="alice", limit=2, offset=2)
        assert (len(rest.results), rest.total_count, rest.offset, rest.has_more) == (1, 3, 2, False)
        assert (await outbox.list_outbox(gate.gateway, account="bob")).total_count == 0


async def test_a_page_of_the_outbox_has_twenty_rows_unless_asked_otherwise(tmp_path):
    async with gate_rig(tmp_path, sends_per_hour=99) as gate:
        for _ in range(21):
            a_row(gate, State.RETRYABLE)
        page = await outbox.list_outbox(gate.gateway)

    assert (len(page.results), page.total_count, page.limit, page.has_more) == (20, 21, 20, True)


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 101}, {"offset": -1}])
async def test_a_page_that_cannot_be_is_refused(tmp_path, wrong):
    async with gate_rig(tmp_path) as gate:
        with pytest.raises(InvalidRequest) as refusal:
            await outbox.list_outbox(gate.gateway, **wrong)
        assert refusal.value.details == {"field": next(iter(wrong))}


async def test_what_nobody_approved_in_time_is_listed_as_over(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        await gate.send()
        gate.time.pass_(86_400)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert row.state == "expired"


async def test_a_send_is_shown_with_its_recipients_and_every_step(tmp_path):
    async with gate_rig(tmp_path) as gate:
        view = await gate.send()
        row, recipients, steps = await outbox.show_send(gate.gateway, view.send_id)
        assert (row.state, row.attempts, recipients) == ("done", 1, ("bob@demo.example",))
        at = "2027-01-15T08:00:00+00:00"
        ways = ("prepared", "reserved", "staged", "sending #1", "accepted #1", "done #1")
        assert steps == tuple(f"{at} {way}" for way in ways)


async def test_a_stop_is_audited_as_the_agent_s(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        held = await gate.send()
        assert (await outbox.cancel_send(gate.gateway, held.send_id)).status == "cancelled"
        entry = gate.audit()[0]
        assert (entry["action_type"], entry["actor"]) == ("cancel_send", "agent")


async def test_a_dialect_is_told_the_providers_own_ids_of_what_was_sent(tmp_path):
    async with gate_rig(tmp_path) as gate:
        view = await gate.send(idempotency_key="k")
        mailbox = (await gate.gateway.accounts.open("alice")).mailbox
        (copy,) = await mailbox.envelopes([view.message_ref])
        assert copy is not None
        assert (copy.folder, copy.subject, copy.thread_ref) == ("Sent", "Lunch?", view.thread_ref)
        again = await gate.send(idempotency_key="k")
        assert (again.message_ref, again.thread_ref) == (view.message_ref, view.thread_ref)


async def test_a_dialect_is_told_when_it_was_sent_and_by_which_code_it_was_warned(tmp_path):
    async with gate_rig(tmp_path) as gate:
        first = await gate.send(idempotency_key="k")
        gate.time.pass_(60)
        again = await gate.send(idempotency_key="k")
        assert (first.at, again.at) == ("2027-01-15T08:00:00+00:00",) * 2
        assert set(first.findings) == {"new_recipient"}
        twin = await gate.send()
        assert twin.findings["duplicate"] in twin.warnings


REFUSALS = {
    "PERMISSION_DENIED": PermissionDenied("No.", details={"status": 403}),
    "INVALID_REQUEST": InvalidRequest("Too large.", details={"status": 413}),
    "NOT_FOUND": NotFound("Gone."),
}


@pytest.mark.parametrize("code", REFUSALS)
async def test_a_dialect_is_told_why_the_provider_refused(tmp_path, code):
    async with gate_rig(tmp_path) as gate:
        (await gate.meddle()).before = _raising(REFUSALS[code])
        view = await gate.send(idempotency_key="k")
        assert (view.status, view.error) == ("rejected", error_view(REFUSALS[code]))


async def test_a_dialect_is_told_how_long_the_provider_wants_to_be_left_alone(tmp_path):
    async with gate_rig(tmp_path) as gate:
        meddled = await gate.meddle()
        meddled.before = _raising(RateLimited("Slowly.", retry_after=90))
        view = await gate.send(idempotency_key="k")
        assert (view.status, view.error.code, view.error.retry_after) == ("held", "RATE_LIMIT_EXCEEDED", 90)
        meddled.before = lambda _: None
        gate.time.pass_(91)
        await worker.work_once(gate.gateway)
        again = await gate.send(idempotency_key="k")
        assert (again.status, again.error) == ("already_executed", None)


def _raising(error):
    def instead(_request):
        raise error

    return instead


async def test_what_is_not_over_is_counted_by_its_state(tmp_path):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        assert await outbox.count_unfinished(gate.gateway) == {}
        for subject in ("First", "Second"):
            await gate.send(replace(MAIL, subject=subject))
        await gate.send(require_approval=True)
        assert await outbox.count_unfinished(gate.gateway) == {"held": 2, "awaiting_approval": 1}


async def test_a_send_of_an_account_that_a_client_may_not_see_cannot_be_stopped_by_it(tmp_path, monkeypatch):
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        held = await gate.send()
        monkeypatch.setattr(type(gate.gateway.accounts), "may_see", lambda _, account: account != "alice")
        for send_id in (held.send_id, "s0000000000"):  # and cannot be told from one that never was
            with pytest.raises(NotFound) as refusal:
                await outbox.cancel_send(gate.gateway, send_id)
            assert refusal.value.message.replace(send_id, "it") == unknown("it", Kind.SEND).message
        assert gate.gateway.store.outbox.get(held.send_id).state is State.HELD
