"""What Graph may answer: broken, odd, large, refused."""

from __future__ import annotations

import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import PDF, mail
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer

from postroom.model.errors import (
    AuthRequired,
    NotFound,
    PermissionDenied,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    Unsupported,
)
from postroom.model.message import Envelope
from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.graph.mail import reading
from postroom.providers.graph.mail.convert import envelope_of
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.graph.session import wire

from .conftest import settings

INBOX = Query(In("inbox"))


def opened(graph: FakeGraph, user: Mailbox, **more: Any) -> GraphMailbox:
    return GraphMailbox(settings(graph, user, **more), ProviderContext(Path("unused")))


async def test_every_request_asks_for_immutable_ids_those_of_a_batch_too(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    stored = graph.deliver(alice, mail("one"))
    ref = stored.immutable_id
    await mailbox.envelopes([ref])
    await mailbox.fetch(ref)
    await mailbox.set_flags([ref], add=["read"])
    await mailbox.apply_label([ref], "red")
    await mailbox.changed_since("", limit=5)
    await mailbox.move([ref], alice.well_known["archive"])
    assert len(graph.requests) > 10
    assert all('IdType="ImmutableId"' in recorded.headers["prefer"] for recorded in graph.requests)


async def test_of_a_large_message_only_the_text_is_read_and_a_file_when_it_is_wanted(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_WHOLE", 1000)
    inner = EmailMessage()
    inner["Subject"] = "Inner"
    inner.set_content("below")
    message = EmailMessage()
    message["From"], message["Subject"], message["Message-ID"] = "Ada <ada@x.example>", "Large", "<large@x>"
    message.set_content("plain")
    message.add_alternative("<p>rich</p>", subtype="html")
    message.add_attachment(PDF, maintype="application", subtype="pdf", filename="plan.pdf")
    message.add_attachment(inner)
    stored = graph.deliver(alice, message.as_bytes())
    stored.links.append(
        {"@odata.type": "#microsoft.graph.referenceAttachment", "id": "A" * 40, "name": "cloud.docx", "size": 3}
    )
    graph.forget()
    found = await mailbox.fetch(stored.immutable_id)
    assert graph.count("messages.content") == 0
    assert (found.body.html.strip(), found.headers["subject"]) == ("<p>rich</p>", ("Large",))
    kinds = [(one.filename, one.mime_type) for one in found.attachments]
    assert kinds == [("plan.pdf", "application/pdf"), ("Inner", "message/rfc822"), ("cloud.docx", "text/uri-list")]
    file, item, link = (one.part for one in found.attachments)
    assert await mailbox.fetch_part(stored.immutable_id, file) == PDF
    assert b"Subject: Inner" in await mailbox.fetch_part(stored.immutable_id, item)
    with pytest.raises(Unsupported, match="cloud"):
        await mailbox.fetch_part(stored.immutable_id, link)
    with pytest.raises(NotFound, match="attachment"):
        await mailbox.fetch_part(stored.immutable_id, "B" * 40)


async def test_a_link_to_a_file_in_the_cloud_is_listed_beside_the_files_of_the_message(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    stored = graph.deliver(alice, mail("one", files=[("plan.pdf", PDF)]))
    stored.links.append(
        {"@odata.type": "#microsoft.graph.referenceAttachment", "id": "A" * 40, "name": "cloud.docx", "size": 3}
    )
    found = await mailbox.fetch(stored.immutable_id)
    assert [one.filename for one in found.attachments] == ["plan.pdf", "cloud.docx"]


async def test_html_of_five_megabytes_is_listed_and_read(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    html = "<p>Lunch on Friday?</p>" + "<p>" + "word " * 1_000_000 + "</p>"
    stored = graph.deliver(alice, mail("big", html=html))
    (row,) = (await mailbox.search(INBOX, limit=5, offset=0)).items
    assert row.snippet.startswith("Lunch on Friday?")
    assert len((await mailbox.fetch(stored.immutable_id)).body.html) > 5_000_000


ODD: list[dict[str, Any]] = [
    {"id": "x", "receivedDateTime": "2026-06-01T10:00:00"},  # without a zone
    {"id": "x", "receivedDateTime": "yesterday", "from": None, "toRecipients": None, "categories": None},
    {"id": "x", "@odata.type": "#microsoft.graph.eventMessage", "@odata.unheard@of": {"a": []}, "flag": None},
    {"id": "x", "from": {"emailAddress": {}}, "subject": None, "isRead": None, "singleValueExtendedProperties": 7},
    {"id": "x", "categories": 7, "singleValueExtendedProperties": [{"id": "Integer 0x0E08", "value": "9" * 5000}]},
    {"id": "x", "categories": [None, 5, {}], "receivedDateTime": "0001-01-01T00:00:00Z"},
    {"id": "x", "toRecipients": [None, {"emailAddress": None}, 5], "body": None, "conversationId": None},
]


@pytest.mark.parametrize("given", ODD)
def test_a_message_with_odd_or_missing_fields_is_still_an_envelope(given: dict[str, Any]) -> None:
    row = envelope_of(given, lambda folder: folder)
    assert isinstance(row, Envelope)
    assert row.ref == row.thread_ref == "x"
    assert row.date is None or row.date.tzinfo is not None


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"{", 200, ProviderError),
        (b"[]", 200, ProviderError),
        (b"<!doctype html><html>Log in", 200, ProviderError),
        (b'{"error": {"code": "ErrorServerBusy", "message": "CANARY"}}', 503, ProviderUnavailable),
        (
            b'{"error": {"code": "x", "message": "CANARY", "innererror": {"code": "ErrorAccessDenied"}}}',
            403,
            PermissionDenied,
        ),
        (b'{"error": {"code": "TooManyRequests"}}', 429, RateLimited),
        (b'{"error": 5}', 404, NotFound),
        (b"", 418, ProviderError),
    ],
)
async def test_an_answer_that_cannot_be_used_is_an_error_without_the_services_words(
    graph: FakeGraph, mailbox: GraphMailbox, body: bytes, status: int, error: type[Exception]
) -> None:
    await mailbox.folders()
    kind = "text/html" if body.startswith(b"<") else "application/json"
    times = 3 if error in (ProviderUnavailable, RateLimited) else 1
    graph.answer_next("GET", "messages.list", body, status=status, content_type=kind, times=times)
    with pytest.raises(error) as caught:
        await mailbox.search(INBOX, limit=5, offset=0)
    assert "CANARY" not in str(caught.value)


async def test_a_redirect_to_another_host_is_not_followed(graph: FakeGraph, mailbox: GraphMailbox) -> None:
    await mailbox.folders()
    elsewhere = Answer(302, b"", {"location": "https://evil.example/v1.0/me/messages"})
    graph._ask(Fault("GET", "messages.list", "answer", times=3, answer=elsewhere))  # as often as it is asked
    with pytest.raises(ProviderError, match="another host"):
        await mailbox.search(INBOX, limit=5, offset=0)


async def test_a_mailbox_that_moved_or_lost_its_licence_is_named_as_such(graph: FakeGraph, alice: Mailbox) -> None:
    alice.is_enabled = False
    mailbox = opened(graph, alice)
    with pytest.raises(ProviderError, match="licence"):
        await mailbox.connect()
    await mailbox.close()


async def test_a_login_of_another_mailbox_is_refused_without_naming_it(
    graph: FakeGraph, alice: Mailbox, bob: Mailbox
) -> None:
    mailbox = opened(graph, bob, token=graph.token(alice))
    with pytest.raises(AuthRequired, match="another mailbox") as caught:
        await mailbox.connect()
    assert alice.address not in str(caught.value)
    await mailbox.close()


async def test_an_alias_is_the_accounts_own_address_too(graph: FakeGraph, alice: Mailbox) -> None:
    alias = f"sales{alice.id}@contoso.example"
    alice.aliases.add(alias)
    mailbox = opened(graph, alice, address=alias)
    await mailbox.connect()
    await mailbox.close()


async def test_a_token_that_may_not_read_its_user_opens_the_mailbox(graph: FakeGraph, alice: Mailbox) -> None:
    mailbox = opened(graph, alice, token=graph.token(alice, {"Mail.Read"}))
    assert (await mailbox.connect()).provider == "graph"
    await mailbox.close()


async def test_an_expired_token_asks_for_a_login(graph: FakeGraph, alice: Mailbox) -> None:
    mailbox = opened(graph, alice, token=graph.token(alice, lifetime=-1))
    with pytest.raises(AuthRequired, match="postroom accounts login work"):
        await mailbox.connect()
    await mailbox.close()


async def test_folders_have_their_roles_in_any_language_and_levels_are_joined(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    alice.folders[alice.well_known["inbox"]].name = "Posteingang"
    alice.folders[alice.well_known["sentitems"]].name = "送信済みアイテム"
    below = alice.add_folder("Büro", alice.well_known["inbox"])
    alice.add_folder("Ein/Aus", below.id)
    alice.add_folder("Hidden", hidden=True)
    for number in range(15):
        alice.add_folder(f"Project {number}", below.id)
    found = {folder.name: folder.role for folder in await mailbox.folders()}
    assert (found["Posteingang"], found["送信済みアイテム"]) == ("inbox", "sent")
    assert "Posteingang/Büro/Ein\u2215Aus" in found
    assert "Posteingang/Büro/Project 14" in found
    assert "Hidden" not in found


async def test_another_mailbox_is_opened_with_the_same_login(graph: FakeGraph, alice: Mailbox, bob: Mailbox) -> None:
    scopes = {"User.Read", "Mail.Read", "Mail.ReadWrite.Shared"}
    mailbox = opened(graph, alice, token=graph.token(alice, scopes))
    await mailbox.connect()
    graph.deliver(bob, mail("theirs", subject="Theirs"))
    shared = mailbox.shared_mailbox(bob.address)
    with pytest.raises(PermissionDenied):
        await shared.connect()
    bob.delegates.add(alice.address)
    able = await shared.connect()
    assert not able.has_shared_mailboxes
    assert [row.subject for row in (await shared.search(INBOX, limit=5, offset=0)).items] == ["Theirs"]
    (identity,) = await shared.identities()
    assert identity.address.email == bob.address
    await shared.close()
    assert await mailbox.folders(), "closing the shared one leaves the login open"
    await mailbox.close()


async def test_a_batch_of_broken_shape_is_an_error(graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox) -> None:
    stored = graph.deliver(alice, mail("one"))
    graph.answer_next("POST", "batch", json.dumps({"responses": [{"id": "7"}, None, {"status": "x"}]}), times=3)
    with pytest.raises(ProviderUnavailable, match="unanswered"):
        await mailbox.envelopes([stored.immutable_id])


async def test_the_messages_of_a_thread_are_read_in_two_batches_and_large_ones_alone(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    raws = [mail(f"m{number}", text=f"Größe {number}", html="<p>ä</p>") for number in range(5)]
    raws.append(mail("large", text="x" * 200_000))
    refs = [graph.deliver(alice, raw).immutable_id for raw in raws]
    await mailbox.folders()
    graph.forget()
    found = await mailbox.fetch_many(refs)
    texts = [one.body.text.strip()[:7] for one in found if one]
    assert texts == [*(f"Größe {number}" for number in range(5)), "x" * 7]
    alone = [one for one in graph.requests if not one.in_batch]
    assert [one.operation for one in alone] == ["batch", "batch", "messages.content"]
    assert found == [await mailbox.fetch(ref) for ref in refs]


PAGE = '"PCFkb2N0eXBlIGh0bWw+"'  # <!doctype html>


@pytest.mark.parametrize(
    "body", ['"From: a@x.example\\r\\n\\r\\nplain"', '"!!!"', '"ü"', '""', "null", "{}", "[]", "5", PAGE]
)
async def test_bytes_that_a_batch_gives_in_another_way_are_read_alone(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, body: str
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(2)]
    whole = [await mailbox.fetch(ref) for ref in refs]
    first = f'{{"id": "0", "status": 200, "headers": {{"Content-Type": "text/plain"}}, "body": {body}}}'
    hold = graph.hold_next("POST", "batch")
    hold.release()
    graph.answer_next("POST", "batch", f'{{"responses": [{first}]}}')
    assert await mailbox.fetch_many(refs) == whole


async def test_one_that_is_refused_or_gone_in_a_batch_is_what_it_is_alone(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(3)]
    place = f"/v1.0/me/messages/{wire.quoted(refs[1])}/$value"
    graph.fail_next("GET", place, status=429, retry_after=1)
    assert all(await mailbox.fetch_many(refs))
    graph.fail_next("GET", place, status=404, reason="ErrorItemNotFound", times=2)
    assert [one is not None for one in await mailbox.fetch_many(refs)] == [True, False, True]


async def test_a_pause_that_only_a_part_of_a_batch_names_holds_for_every_request(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    refs = [graph.deliver(alice, mail(f"m{number}")).immutable_id for number in range(3)]
    graph.fail_next("GET", f"/v1.0/me/messages/{wire.quoted(refs[1])}", status=429, retry_after=3600)
    with pytest.raises(RateLimited):
        await mailbox.envelopes(refs)
    graph.forget()
    with pytest.raises(RateLimited) as caught:
        await mailbox.folders()
    assert 800 < (caught.value.retry_after or 0) <= 900, "asked again within a quarter of an hour"
    assert graph.requests == []
