"""A service that goes round in circles or fails in the middle, and other programs that are at work meanwhile."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest
from tests.contract.mails import NOW, mail
from tests.peers.graph import FakeGraph, kql
from tests.peers.graph.mailbox import Mailbox
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer

from postroom.mime.write.compose import compose
from postroom.model.address import Address
from postroom.model.draft import Draft
from postroom.model.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from postroom.model.native import NativeAction, Recipients
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.model.query.text import parse_query
from postroom.model.query.tree import In, Query
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.graph.session import wire
from postroom.providers.graph.transport import GraphTransport
from postroom.safety.staged import check_staged

INBOX = Query(In("inbox"))


async def test_a_listing_of_folders_that_fails_says_why(graph: FakeGraph, mailbox: GraphMailbox) -> None:
    graph.fail_next("GET", "folders.list", status=429, retry_after=60)
    with pytest.raises(RateLimited):
        await mailbox.folders()


async def test_one_of_many_messages_that_cannot_be_read_says_why(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(3)]
    place = f"/v1.0/me/messages/{wire.quoted(refs[1])}/$value"
    graph.fail_next("GET", place, status=403, times=2)  # in the batch, and alone
    with pytest.raises(PermissionDenied):
        await mailbox.fetch_many(refs)


async def test_a_folder_that_is_said_to_be_within_itself_is_listed_once(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    own = {"id": alice.well_known["inbox"], "displayName": "Inbox", "childFolderCount": 1}
    alice.add_folder("Below", alice.well_known["inbox"])
    graph.answer_next("GET", "folders.children", json.dumps({"value": [own]}))
    assert len([one for one in await mailbox.folders() if one.ref == own["id"]]) == 1


async def test_a_mailbox_that_does_not_exist_is_not_found(mailbox: GraphMailbox) -> None:
    with pytest.raises(NotFound, match="Check the address"):
        await mailbox.shared_mailbox("nobody@contoso.example").connect()


async def test_a_listing_whose_empty_pages_lead_to_each_other_ends(graph: FakeGraph, mailbox: GraphMailbox) -> None:
    await mailbox.folders()
    page = json.dumps({"value": [], "@odata.nextLink": f"{graph.base_url}/me/messages?$skip=1"})
    graph.answer_next("GET", "messages.list", page, times=2)
    with pytest.raises(ProviderError, match="loop"):
        await mailbox.search(INBOX, limit=10, offset=0)


async def test_a_delta_whose_pages_lead_to_each_other_ends(graph: FakeGraph, mailbox: GraphMailbox) -> None:
    for number in (1, 2, 1) * 3:
        link = f"{graph.base_url}/me/mailFolders/x/messages/delta?$skiptoken=t{number}"
        graph.answer_next("GET", "messages.delta", json.dumps({"value": [], "@odata.nextLink": link}))
    with pytest.raises(ProviderUnavailable, match="loop"):
        await mailbox.changed_since("", limit=5)


@pytest.mark.parametrize(
    "link",
    [
        "http://graph.example/v1.0/me/messages",
        "https://{host}/v1.0/me/messages",
        "http://{name}/v1.0/me/messages",
        "http://{name}:1/v1.0/me/messages",
        "http://{host}.evil.example/v1.0/me/messages",
        "http://{host}@evil.example/me/messages",
        "http://eve:secret@{host}/v1.0/me/messages",
        "http://eve@{host}/v1.0/me/messages",
        "http://evil.example#@{host}/v1.0/me/messages",
        "http://evil.example\\@{host}/v1.0/me/messages",
        "file:///{host}/v1.0/me/messages",
        "://{host}/v1.0/me/messages",
        "http://[{host}/v1.0/me/messages",
    ],
)
async def test_a_next_page_elsewhere_or_in_disguise_is_not_followed_and_gets_no_token(
    graph: FakeGraph, mailbox: GraphMailbox, link: str
) -> None:
    """Another scheme, port, host or login, however it is written."""
    await mailbox.folders()
    host = graph.url.removeprefix("http://")
    link = link.format(host=host, name=host.partition(":")[0])
    graph.answer_next("GET", "messages.list", json.dumps({"value": [], "@odata.nextLink": link}))
    graph.forget()
    with pytest.raises(ProviderError, match="another host"):
        await mailbox.search(INBOX, limit=10, offset=0)
    assert len(graph.requests) == 1


async def test_a_next_page_is_asked_for_as_the_service_wrote_it(graph: FakeGraph, mailbox: GraphMailbox) -> None:
    await mailbox.folders()
    link = f"{graph.base_url}/me/messages?%24skiptoken=a%2Bb%2F%3D&$select=id,subject"
    graph.answer_next("GET", "messages.list", json.dumps({"value": [{"id": "x"}], "@odata.nextLink": link}))
    graph.answer_next("GET", "messages.list", json.dumps({"value": []}))
    graph.forget()
    await mailbox.search(INBOX, limit=10, offset=0)
    asked = [one.params for one in graph.requests if one.operation == "messages.list"]
    assert asked[1] == [("$skiptoken", "a+b/="), ("$select", "id,subject")]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_write_is_followed_to_no_other_place_and_its_outcome_is_open(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, status: int
) -> None:
    moved = Answer(status, b"", {"location": f"{graph.base_url}/users/{bob.address}/sendMail"})
    graph._ask(Fault("POST", "sendMail", "answer", answer=moved))
    graph.forget()
    named = NativeAction("send", named=Recipients(to=(Address(bob.address),)), subject="Hello", text="Text")
    outcome = await transport.submit(
        SubmitRequest(WireEnvelope(alice.address, (bob.address,)), b"", "", "a", native=named)
    )
    assert (outcome.state, len(graph.requests)) == ("unknown", 1)


async def test_nobody_replies_to_an_alias_of_their_own(
    graph: FakeGraph, alice: Mailbox, transport: GraphTransport
) -> None:
    """Exchange knows one's own addresses; so does the preview."""
    alias = f"sales-{alice.address}"
    alice.aliases.add(alias)
    mailbox = transport._mailbox
    await mailbox.check_login()
    stored = graph.deliver(alice, mail("one", sender="eve@x.example", to=f"{alias}, ann@x.example", cc=alice.address))
    action = NativeAction("reply_all", stored.immutable_id, text="Yes")
    reached = await transport.recipients_of(action)
    everyone = [one.email for field in (reached.to, reached.cc) for one in field]
    assert everyone == ["eve@x.example", "ann@x.example"]
    request = SubmitRequest(WireEnvelope(alice.address, tuple(everyone)), b"", "", "a", native=action)
    await transport.submit(request)
    assert list(graph.sent[-1].recipients) == everyone


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ("7", 7, 7),
        ("99999999999999999999", 14_400, 14_400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 14_400, 14_400),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 0, 0),
        ("-5", None, None),
        ("soon", None, None),
        ("1e9", None, None),
        ("٣", None, None),
        ("", None, None),
    ],
)
async def test_a_pause_is_kept_as_it_is_asked_for_and_an_absurd_one_is_limited(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, given: str, least: Any, most: Any
) -> None:
    answer = Answer(429, b"", {"retry-after": given})
    graph._ask(Fault("POST", "sendMail", "answer", answer=answer))
    named = NativeAction("send", named=Recipients(to=(Address(bob.address),)), subject="Hello", text="Text")
    request = SubmitRequest(WireEnvelope(alice.address, (bob.address,)), b"", "", "a", native=named)
    outcome = await transport.submit(request)
    assert outcome.state == "retryable"
    assert outcome.retry_after is None if least is None else least <= (outcome.retry_after or 0) <= most


async def test_the_pause_of_one_request_in_a_batch_is_kept_and_only_that_one_repeated(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(3)]
    await mailbox.folders()
    graph.fail_next("GET", f"/v1.0/me/messages/{wire.quoted(refs[1])}", status=429, retry_after="1")
    graph.fail_next("GET", f"/v1.0/me/messages/{wire.quoted(refs[2])}", status=403, reason="ErrorAccessDenied")
    graph.forget()
    with pytest.raises(PermissionDenied):  # one that failed for good is seen, not swallowed
        await mailbox.envelopes(refs)
    inner = [one.path.rpartition("/")[2] for one in graph.requests if one.in_batch]
    assert sorted(inner) == sorted(map(wire.quoted, [*refs, refs[1]]))


async def test_more_messages_with_a_word_than_the_service_names_are_never_taken_for_those_without(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MOST_SEARCHED", 3)
    monkeypatch.setattr(kql, "MOST", 3)
    for number in range(5):
        graph.deliver(alice, mail(f"m{number}", text="parcel", days_ago=number, sender="ada@x.example"))
    graph.deliver(alice, mail("rare", text="parcel", days_ago=9, sender="ben@x.example"))
    with pytest.raises(InvalidRequest, match="Narrow"):
        await mailbox.search(parse_query("is:unread -parcel", now=NOW), limit=10, offset=0)
    page = await mailbox.search(parse_query("from:ben -parcel", now=NOW), limit=10, offset=0)
    assert page.items == ()


async def test_a_decomposed_letter_finds_the_composed_one(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    graph.deliver(alice, mail("one", subject="Café"))
    page = await mailbox.search(parse_query("subject:Cafe\u0301", now=NOW), limit=10, offset=0)
    assert len(page.items) == 1


async def test_a_draft_that_is_sent_while_it_is_being_replaced_is_not_destroyed(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    saved = await mailbox.create_draft(mail("plan", sender=alice.address))
    hold = graph.hold_next("POST", "messages.create", after_effect=True)

    async def send_it() -> None:
        await anyio.to_thread.run_sync(hold.reached.wait, 10)
        with graph.lock:
            sent = alice.message(saved.ref)
            sent.is_draft = False
            alice.move(sent, "sentitems")
        hold.release()

    async with anyio.create_task_group() as group:
        group.start_soon(send_it)
        with pytest.raises(Conflict, match="sent"):
            await mailbox.update_draft(saved.ref, mail("plan", text="New.", sender=alice.address))
    assert (len(alice.within("sentitems")), len(alice.within("drafts"))) == (1, 1)


async def test_a_draft_that_is_edited_while_it_is_being_replaced_is_not_destroyed(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    saved = await mailbox.create_draft(mail("plan", sender=alice.address))
    hold = graph.hold_next("POST", "messages.create", after_effect=True)

    async def edit_it() -> None:
        await anyio.to_thread.run_sync(hold.reached.wait, 10)
        await mailbox.set_flags([saved.ref], add=["starred"])  # any change: it has another changeKey then
        hold.release()

    async with anyio.create_task_group() as group:
        group.start_soon(edit_it)
        with pytest.raises(Conflict, match="changed this draft"):
            await mailbox.update_draft(saved.ref, mail("plan", text="New.", sender=alice.address))
    assert len(alice.within("drafts")) == 2


@pytest.mark.parametrize("lost", [False, True], ids=["answered", "lost"])
async def test_no_copy_stays_of_a_staged_message_for_which_none_is_wanted(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, lost: bool
) -> None:
    outcome = await _sent_without_copy(graph, alice, bob, transport, lost=lost)
    assert (outcome.state, outcome.warnings) == ("accepted", ())
    assert (len(bob.within("inbox")), alice.within("sentitems")) == (1, [])


async def test_a_copy_that_cannot_be_removed_is_told(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport
) -> None:
    graph.fail_next("POST", "messages.permanentDelete", status=403)
    outcome = await _sent_without_copy(graph, alice, bob, transport)
    assert outcome.state == "accepted"
    assert "stays in Sent Items" in outcome.warnings[0]
    assert len(alice.within("sentitems")) == 1


async def _sent_without_copy(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox, transport: GraphTransport, *, lost: bool = False
) -> Any:
    raw = mail("one", sender=alice.address, to=bob.address)
    envelope = WireEnvelope(alice.address, (bob.address,))
    request = SubmitRequest(envelope, raw, "<one@seed.example>", "attempt", save_to_sent=False)
    request = replace(request, staged_ref=await transport.stage(request))
    if lost:
        graph.cut_next("POST", "messages.send", after_effect=True)
        assert (await transport.submit(request)).state == "unknown"
        return await transport.reconcile(request)
    return await transport.submit(request)


@pytest.mark.parametrize("address", ["jörg@münchen.example", "info@münchen.example"])
async def test_an_address_beyond_ascii_gets_its_message_staged_or_by_an_action(
    graph: FakeGraph, alice: Mailbox, transport: GraphTransport, address: str
) -> None:
    reader = graph.user(address)
    envelope = WireEnvelope(alice.address, (address,))
    named = NativeAction("send", named=Recipients(to=(Address(address),)), subject="Hallo", text="Guten Tag.")
    outcome = await transport.submit(SubmitRequest(envelope, b"", "", "attempt", native=named))
    assert outcome.state == "accepted"
    draft = Draft(Address(alice.address), to=(Address(address, "Jörg"),), subject="Hallo", text="Guten Tag.")
    raw = compose(draft, message_id="<a@x.example>", date=NOW)
    request = SubmitRequest(envelope, raw, "<a@x.example>", "attempt")
    request = replace(request, staged_ref=await transport.stage(request))
    held = await transport.staged(request)
    assert held is not None
    check_staged(request, held)
    assert (await transport.submit(request)).state == "accepted"
    assert len(reader.within("inbox")) == 2


async def test_a_draft_that_is_no_longer_the_version_that_was_read_is_left_as_it_is(
    alice: Mailbox, mailbox: GraphMailbox
) -> None:
    saved = await mailbox.create_draft(mail("plan", text="Old.", sender=alice.address))
    read = (await mailbox.find_draft(saved.ref)).version
    await mailbox.set_flags([saved.ref], add=["starred"])
    with pytest.raises(Conflict, match="changed in another program"):
        await mailbox.update_draft(saved.ref, mail("plan", text="New.", sender=alice.address), version=read)
    assert (len(alice.within("drafts")), (await mailbox.fetch(saved.ref)).body.text.strip()) == (1, "Old.")
