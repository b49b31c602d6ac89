"""What the fake Gmail does with mail on its way out, and where that mail turns up."""

from __future__ import annotations

import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import Caller, encoded, refusal, written
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.stored import StoredMessage

BOB = "bob@gmail.example"


def send(caller: Caller, raw: bytes, **more: str) -> dict[str, str]:
    sent: dict[str, str] = caller.post("messages/send", {"raw": encoded(raw), **more})
    return sent


def test_blind_copies_are_seen_by_the_sender_alone(
    gmail: FakeGmail, alice: Mailbox, bob: Mailbox, caller: Caller
) -> None:
    eve = gmail.user("eve@gmail.example")
    raw = written("Hi", To=f"Bob <{BOB}>, out@elsewhere.example", Bcc="eve@gmail.example", Subject="Party")
    send(caller, raw)
    (kept,), (first,), (second,) = alice.labelled("SENT"), bob.labelled("INBOX"), eve.labelled("INBOX")
    assert kept.header("Bcc") == "eve@gmail.example"
    assert not first.header("Bcc")
    assert not second.header("Bcc")
    assert second.labels == {"INBOX", "UNREAD"}
    (sent,) = gmail.sent
    assert sent.external == ("out@elsewhere.example",)
    assert sent.recipients == (BOB, "out@elsewhere.example", "eve@gmail.example")


def test_mail_to_oneself_is_one_message(alice: Mailbox, caller: Caller) -> None:
    send(caller, written(To="alice+notes@gmail.example", Subject="note"))
    assert [message.labels for message in alice.messages.values()] == [{"SENT", "INBOX", "UNREAD"}]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (written(Subject="x"), "Recipient address required"),
        (written(To="nobody", Subject="x"), "Invalid To header"),
        (written(To=BOB, Cc="a@b", Subject="x"), "Invalid Cc header"),
    ],
)
def test_a_mail_to_nobody_is_refused(gmail: FakeGmail, caller: Caller, raw: bytes, message: str) -> None:
    assert refusal(caller.ask("POST", "messages/send", {"raw": encoded(raw)})) == (400, "invalidArgument", message)
    assert gmail.sent == []


def test_a_mail_without_content_is_refused(caller: Caller) -> None:
    told = refusal(caller.ask("POST", "messages/send", {"threadId": ""}))
    assert told[0] == 400
    assert told[2].startswith("'raw' RFC822 payload")
    assert caller.ask("POST", "messages/send", {"raw": "%%%"}).status_code == 400


def sender_of(gmail: FakeGmail, caller: Caller, given: str) -> StoredMessage:
    sent = send(caller, written(From=given, To=BOB, Subject="x"))
    return next(iter(gmail.users.values())).messages[sent["id"]]


def test_from_is_the_account_or_a_verified_alias(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    gmail.add_send_as(alice, "sales@shop.example", "Sales")
    gmail.add_send_as(alice, "director@shop.example", "Director", verified=False)
    assert sender_of(gmail, caller, "Shop <sales@shop.example>").header("From") == "Shop <sales@shop.example>"
    forged = sender_of(gmail, caller, "The Director <director@shop.example>")
    assert forged.header("From") == "The Director <alice@gmail.example>"
    assert forged.header("X-Google-Original-From") == "The Director <director@shop.example>"


def test_what_a_message_must_have_is_added_and_its_body_is_left_alone(alice: Mailbox, caller: Caller) -> None:
    send(caller, f"To: {BOB}\nSubject: bare\n\nline one\n.\nline two".encode())
    (kept,) = alice.labelled("SENT")
    assert kept.header("From") == "Alice Ample <alice@gmail.example>"
    assert kept.message_id.endswith("@mail.gmail.com>")
    assert kept.header("Date")
    assert kept.raw.endswith(b"\r\n\r\nline one\r\n.\r\nline two")


def test_a_message_id_is_kept_unless_gmail_replaces_it(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    raw = written(To=BOB, Subject="x", Message_ID="<mine@x>")
    send(caller, raw)
    gmail.replaces_message_ids = True
    send(caller, raw)
    replaced, kept = alice.labelled("SENT")
    assert kept.message_id == "<mine@x>"
    assert replaced.message_id != "<mine@x>"
    assert replaced.header("X-Google-Original-Message-ID") == "<mine@x>"


@pytest.mark.parametrize(
    ("names_thread", "refers", "subject", "joins"),
    [
        (True, True, "Re: Plan", True),
        (True, True, "AW: re: plan", True),
        (False, True, "Re: Plan", False),
        (True, False, "Re: Plan", False),
        (True, True, "Another plan", False),
    ],
)
def test_a_reply_joins_only_with_thread_reference_and_subject(
    gmail: FakeGmail, alice: Mailbox, caller: Caller, names_thread: bool, refers: bool, subject: str, joins: bool
) -> None:
    asked = gmail.deliver(alice, written(From=BOB, Subject="Plan", Message_ID="<1@x>"))
    reference = {"In_Reply_To": "<1@x>", "References": "<1@x>"} if refers else {}
    named = {"threadId": asked.thread_id} if names_thread else {}
    sent = send(caller, written(To=BOB, Subject=subject, **reference), **named)
    assert (sent["threadId"] == asked.thread_id) is joins


def test_a_thread_may_be_joined_by_its_id_alone_where_a_test_says_so(
    gmail: FakeGmail, alice: Mailbox, bob: Mailbox, caller: Caller
) -> None:
    alice.joins_by_thread_id_alone = True
    asked = gmail.deliver(alice, written(From=BOB, Subject="Plan", Message_ID="<1@x>"))
    sent = send(caller, written(To=BOB, Subject="Another"), threadId=asked.thread_id)
    assert sent["threadId"] == asked.thread_id
    assert [message.thread_id == message.id for message in bob.labelled("INBOX")] == [True]


def test_a_thread_that_does_not_exist_cannot_be_joined(gmail: FakeGmail, caller: Caller) -> None:
    body = {"raw": encoded(written(To=BOB, Subject="x")), "threadId": "19a0000000000001"}
    assert refusal(caller.ask("POST", "messages/send", body))[:2] == (404, "notFound")
    assert gmail.sent == []


def test_mail_that_arrives_joins_by_reference_and_subject(gmail: FakeGmail, alice: Mailbox, bob: Mailbox) -> None:
    first = gmail.deliver(bob, written(From=alice.address, Subject="Plan", Message_ID="<1@x>"))
    reply = gmail.deliver(bob, written(Subject="Re: Plan", References="<0@x> <1@x>", Message_ID="<2@x>"))
    other = gmail.deliver(bob, written(Subject="Other", References="<1@x>"))
    assert reply.thread_id == first.thread_id
    assert other.thread_id == other.id


def test_inserted_mail_goes_nowhere_and_may_be_sent_mail_but_no_draft(
    gmail: FakeGmail, alice: Mailbox, bob: Mailbox, caller: Caller
) -> None:
    body = {"raw": encoded(written(To=BOB, Subject="x")), "labelIds": ["SENT"]}
    caller.post("messages", body)
    assert alice.labelled("SENT")
    assert bob.messages == {}
    assert gmail.sent == []
    refused = refusal(caller.ask("POST", "messages", {**body, "labelIds": ["DRAFT"]}))
    assert refused == (400, "invalidArgument", "Invalid label: DRAFT")
