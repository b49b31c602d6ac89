"""Sending through Graph: what is staged, what is claimed, what is settled by reading back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail, message_id
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox

from postroom.model.address import Address
from postroom.model.errors import NotFound, ProviderError
from postroom.model.native import NativeAction, Recipients
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.providers.context import ProviderContext
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.graph.transport import GraphTransport
from postroom.safety.staged import check_staged

from .conftest import settings
from .test_graph_reading import opened


def request_of(alice: Mailbox, bob: Mailbox, key: str = "one", *, raw: bytes = b"", **fields: Any) -> SubmitRequest:
    raw = raw or mail(key, sender=alice.address, to=bob.address, days_ago=0, **fields)
    return SubmitRequest(WireEnvelope(alice.address, (bob.address,)), raw, message_id(key), f"attempt-{key}")


async def staged(transport: GraphTransport, request: SubmitRequest) -> SubmitRequest:
    return replace(request, staged_ref=await transport.stage(request))


async def test_what_exchange_writes_anew_is_still_what_was_approved(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport
) -> None:
    graph.rewrites_mime = True
    files = [("plan.pdf", b"%PDF")]
    request = request_of(alice, bob, html="<p>Hello <b>you</b>.</p>", text="Hello you.", files=files, answers=["first"])
    request = await staged(transport, request)
    held = await transport.staged(request)
    assert held is not None
    check_staged(request, held)


async def test_a_draft_whose_message_id_exchange_replaced_is_settled_by_its_ref(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport
) -> None:
    graph.replaces_message_ids = True
    request = await staged(transport, request_of(alice, bob))
    assert (await transport.reconcile(request)).state == "retryable"
    graph.cut_next("POST", "messages.send", after_effect=True)
    assert (await transport.submit(request)).state == "unknown"
    assert (await transport.reconcile(request)).state == "accepted"
    assert len(bob.within("inbox")) == 1


Fail = Callable[[FakeGraph], None]
FAILURES: list[tuple[str, Fail, str, int]] = [
    ("429", lambda graph: graph.fail_next("POST", "messages.send", status=429, retry_after=40), "retryable", 0),
    ("401", lambda graph: graph.fail_next("POST", "messages.send", status=401), "retryable", 0),
    (
        "403",
        lambda graph: graph.fail_next("POST", "messages.send", status=403, reason="ErrorSendAsDenied"),
        "rejected",
        0,
    ),
    ("413", lambda graph: graph.fail_next("POST", "messages.send", status=413), "rejected", 0),
    ("503", lambda graph: graph.fail_next("POST", "messages.send", status=503), "unknown", 0),
    ("503, sent", lambda graph: graph.fail_next("POST", "messages.send", status=503, after_effect=True), "unknown", 1),
    ("cut", lambda graph: graph.cut_next("POST", "messages.send"), "unknown", 0),
    ("cut, sent", lambda graph: graph.cut_next("POST", "messages.send", after_effect=True), "unknown", 1),
    ("page", lambda graph: graph.html_next("POST", "messages.send"), "unknown", 0),
    ("200 page", lambda graph: graph.html_next("POST", "messages.send", status=200), "unknown", 0),
    ("200 error", lambda graph: graph.answer_next("POST", "messages.send", '{"error": {"code": "x"}}'), "unknown", 0),
]


@pytest.mark.parametrize(("fail", "state", "arrived"), [one[1:] for one in FAILURES], ids=[one[0] for one in FAILURES])
async def test_a_failed_submission_claims_no_more_than_is_known_and_reading_back_settles_it(
    graph: FakeGraph,
    alice: Mailbox,
    bob: Mailbox,
    transport: GraphTransport,
    fail: Fail,
    state: str,
    arrived: int,
) -> None:
    request = await staged(transport, request_of(alice, bob))
    fail(graph)
    outcome = await transport.submit(request)
    assert outcome.state == state
    assert graph.count("messages.send") == 1, "nothing is ever sent twice"
    assert len(bob.within("inbox")) == arrived
    if state == "unknown":
        assert (await transport.reconcile(request)).state == ("accepted" if arrived else "retryable")
    if state == "retryable":
        assert outcome.login_refused or outcome.retry_after == 40


async def test_an_empty_202_is_success_and_nothing_more_is_claimed(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport
) -> None:
    outcome = await transport.submit(await staged(transport, request_of(alice, bob)))
    assert (outcome.state, outcome.accepted, outcome.warnings) == ("accepted", (bob.address,), ())


async def test_a_draft_that_is_gone_is_not_sent_and_not_called_rejected(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport
) -> None:
    request = await staged(transport, request_of(alice, bob))
    alice.remove(alice.message(request.staged_ref))
    assert (await transport.submit(request)).state == "unknown"
    assert (await transport.reconcile(request)).state == "unknown"
    assert await transport.staged(request) is None


async def test_a_request_without_a_draft_is_refused(alice: Mailbox, bob: Mailbox, transport: GraphTransport) -> None:
    assert (await transport.submit(request_of(alice, bob))).state == "rejected"


@pytest.fixture
def original(graph: FakeGraph, alice: Mailbox, bob: Mailbox) -> Any:
    raw = mail(
        "question",
        subject="Plan",
        sender=f"Bob <{bob.address}>",
        to=f"{alice.address}, Dora <dora@else.example>",
        cc=f"carl@else.example, {alice.address}",
    )
    return graph.deliver(alice, raw)


def action(kind: Any, ref: str = "", **more: Any) -> NativeAction:
    return NativeAction(kind, ref, **more)


async def test_everyone_whom_a_native_action_reaches_is_whom_it_then_reaches(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, original: Any
) -> None:
    to_bob = Recipients(to=(Address(bob.address),))
    actions = [
        action("send", named=to_bob, subject="New", text="Hello"),
        action("reply", original.immutable_id, text="Yes"),
        action("reply_all", original.immutable_id, text="Yes, all"),
        action("forward", original.immutable_id, named=to_bob, text="See"),
        action("forward", original.immutable_id, named=to_bob),
        action("reply", original.immutable_id, html="<p>Yes</p>"),
    ]
    for one in actions:
        everyone = await transport.recipients_of(one)
        emails = tuple(address.email for field in (everyone.to, everyone.cc, everyone.bcc) for address in field)
        request = SubmitRequest(WireEnvelope(alice.address, emails), b"", "", "attempt", native=one)
        graph.forget()
        outcome = await transport.submit(request)
        assert (outcome.state, outcome.accepted) == ("accepted", emails)
        assert set(graph.sent[-1].recipients) == set(emails)
        assert len(graph.requests) == 1
        assert (await transport.reconcile(request)).state == "unknown"


async def test_a_comment_and_a_body_are_never_sent_together_and_an_empty_comment_not_at_all(
    alice: Mailbox, bob: Mailbox
) -> None:
    from postroom.providers.graph import native

    to_bob = Recipients(to=(Address(bob.address, "Bob"),), cc=(Address("carl@else.example"),))
    plain = Recipients(to=to_bob.to)
    ref = "A" * 40
    who = [{"emailAddress": {"address": bob.address, "name": "Bob"}}]
    assert native.body_of(action("forward", ref, named=plain), save_to_sent=True) == {"toRecipients": who}
    assert native.body_of(action("reply", ref, text="Yes"), save_to_sent=True) == {"comment": "Yes"}
    mixed = native.body_of(action("forward", ref, named=to_bob, text="See"), save_to_sent=True)
    assert "comment" not in mixed
    assert mixed["message"]["body"] == {"contentType": "Text", "content": "See"}
    sent = native.body_of(action("send", named=plain, subject="S", text="T"), save_to_sent=False)
    assert sent["saveToSentItems"] is False
    assert "ccRecipients" not in sent["message"]


async def test_an_original_that_is_gone_stops_a_native_action(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, original: Any
) -> None:
    alice.remove(original)
    for ref in (original.immutable_id, "../../me/sendMail", ""):
        with pytest.raises(NotFound):
            await transport.recipients_of(action("reply", ref))
        request = SubmitRequest(WireEnvelope(alice.address, ()), b"", "", "a", native=action("reply", ref, text="x"))
        assert (await transport.submit(request)).state == "rejected"
    assert graph.sent == [] or graph.sent[-1].sender != alice.address


async def test_a_service_that_does_not_say_where_replies_go_is_not_taken_at_the_sender_s_word(
    graph: FakeGraph, transport: GraphTransport, original: Any
) -> None:
    graph.answer_next("GET", "messages.get", '{"from": {"emailAddress": {"address": "eve@x.example"}}}', times=2)
    with pytest.raises(ProviderError, match="whom a reply reaches"):
        await transport.recipients_of(action("reply", original.immutable_id))


async def test_a_lost_answer_to_a_native_action_stays_unknown(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, original: Any
) -> None:
    reply = action("reply", original.immutable_id, text="Yes")
    request = SubmitRequest(WireEnvelope(alice.address, (bob.address,)), b"", "", "attempt", native=reply)
    graph.cut_next("POST", "messages.reply", after_effect=True)
    assert (await transport.submit(request)).state == "unknown"
    assert graph.count("messages.reply") == 1


async def test_a_message_leaves_from_a_shared_mailbox_over_ones_own_login(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox
) -> None:
    sales = graph.user(f"sales-{alice.address}", "Sales")
    sales.delegates.add(alice.address)
    scopes = {"User.Read", "Mail.ReadWrite", "Mail.ReadWrite.Shared", "Mail.Send.Shared"}
    mailbox = opened(graph, alice, token=graph.token(alice, scopes))
    await mailbox.connect()
    shared = mailbox.shared_mailbox(sales.address)
    await shared.connect()
    transport = GraphTransport(settings(graph, sales), ProviderContext(Path("unused")), shared)
    request = await staged(transport, request_of(sales, bob))
    assert (await transport.submit(request)).state == "accepted"
    assert ([one.subject for one in sales.within("sentitems")], alice.messages) == (["Subject of one"], [])
    assert b"sales-" in bob.within("inbox")[0].raw
    await mailbox.close()


async def test_an_old_version_that_cannot_be_removed_is_named_and_the_new_one_is_safe(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    saved = await mailbox.create_draft(mail("plan", sender=alice.address))
    graph.fail_next("POST", "messages.permanentDelete", status=403)
    with pytest.raises(ProviderError, match="List the drafts"):
        await mailbox.update_draft(saved.ref, mail("plan", text="New.", sender=alice.address))
    assert len(alice.within("drafts")) == 2
