"""What the fake Gmail lets a client change: labels, drafts, threads, filters, settings."""

from __future__ import annotations

import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import Caller, encoded, refusal, written
from tests.peers.gmail.mailbox import Mailbox
from tests.peers.gmail.methods import SHARING

BOB = "bob@gmail.example"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"addLabelIds": ["SENT"]}, "Invalid label: SENT"),
        ({"addLabelIds": ["DRAFT"]}, "Invalid label: DRAFT"),
        ({"removeLabelIds": ["SENT"]}, "Invalid label: SENT"),
        ({"addLabelIds": ["Label_99"]}, "Invalid label: Label_99"),
        ({"addLabelIds": ["STARRED"], "removeLabelIds": ["STARRED"]}, "Cannot both add and remove the same label"),
        ({}, "No label add or removes specified"),
    ],
)
def test_a_change_of_labels_is_refused(
    gmail: FakeGmail, alice: Mailbox, caller: Caller, change: dict[str, list[str]], message: str
) -> None:
    stored = gmail.deliver(alice, written(Subject="x"))
    for path, body in (
        (f"messages/{stored.id}/modify", change),
        (f"threads/{stored.thread_id}/modify", change),
        ("messages/batchModify", {"ids": [stored.id], **change}),
    ):
        assert refusal(caller.ask("POST", path, body)) == (400, "invalidArgument", message)
    assert stored.labels == {"INBOX", "UNREAD"}


def test_a_message_is_in_one_of_inbox_spam_and_trash(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    stored = gmail.deliver(alice, written(Subject="x"), {"INBOX"})
    for label in ("SPAM", "TRASH", "INBOX"):
        caller.post(f"messages/{stored.id}/modify", {"addLabelIds": [label]})
        assert stored.labels == {label}
    caller.post(f"messages/{stored.id}/trash")
    assert caller.post(f"messages/{stored.id}/untrash") == {"id": stored.id, "threadId": stored.id}


def test_an_id_that_is_none_differs_from_one_that_is_gone(caller: Caller) -> None:
    assert refusal(caller.ask("GET", "messages/no-id")) == (400, "invalidArgument", "Invalid id value")
    assert refusal(caller.ask("GET", "messages/19a0000000000001"))[:2] == (404, "notFound")
    assert refusal(caller.ask("GET", "threads/19a0000000000001"))[:2] == (404, "notFound")
    assert refusal(caller.ask("GET", "drafts/r1"))[:2] == (404, "notFound")


def test_a_batch_of_ids_has_an_end_and_passes_over_what_is_gone(
    gmail: FakeGmail, alice: Mailbox, caller: Caller
) -> None:
    stored = gmail.deliver(alice, written(Subject="x"))
    ids = [stored.id, "19a0000000000001"]
    caller.post("messages/batchModify", {"ids": ids, "addLabelIds": ["STARRED"]})
    assert "STARRED" in stored.labels
    assert caller.ask("POST", "messages/batchModify", {"ids": ids * 501, "addLabelIds": ["STARRED"]}).status_code == 400
    caller.post("messages/batchDelete", {"ids": ids})
    assert alice.messages == {}


@pytest.mark.parametrize("name", ["Inbox", "drafts", "Muted", "Migrated", "", " ", "a//b", "/a", "a/", "x" * 226])
def test_names_that_gmail_keeps_for_itself_or_cannot_keep_are_refused(caller: Caller, name: str) -> None:
    assert refusal(caller.ask("POST", "labels", {"name": name})) == (400, "invalidArgument", "Invalid label name")


def test_a_label_is_one_whatever_its_case_and_may_be_below_another(caller: Caller) -> None:
    made = [caller.post("labels", {"name": name}) for name in ("Work", "Work/Clients", "Work/Clients/ACME")]
    assert len({label["id"] for label in made}) == 3
    taken = (409, "aborted", "Label name exists or conflicts")
    assert refusal(caller.ask("POST", "labels", {"name": "WORK/clients"})) == taken
    assert refusal(caller.ask("PATCH", f"labels/{made[0]['id']}", {"name": "work/clients"})) == taken
    assert caller.ask("PATCH", f"labels/{made[0]['id']}", {"name": "WORK"}).json()["name"] == "WORK"
    assert refusal(caller.ask("DELETE", "labels/INBOX"))[:2] == (400, "invalidArgument")
    assert refusal(caller.ask("GET", "labels/Label_99"))[:2] == (404, "notFound")


def test_a_colour_must_be_on_the_palette(gmail: FakeGmail, caller: Caller) -> None:
    if not gmail.palette:
        pytest.skip("the palette stands in Google's discovery document, which is not here")
    color = {"textColor": "#000000", "backgroundColor": "#123456"}
    message = "Label color #123456 is not on the allowed color palette"
    assert refusal(caller.ask("POST", "labels", {"name": "x", "color": color})) == (400, "invalidArgument", message)
    assert caller.post("labels", {"name": "x"})["id"] == "Label_1"


def draft(caller: Caller, raw: bytes, **more: str) -> dict[str, str]:
    made: dict[str, str] = caller.post("drafts", {"message": {"raw": encoded(raw), **more}})
    return made


def test_a_draft_of_a_reply_stays_in_its_thread_through_update_and_send(
    gmail: FakeGmail, alice: Mailbox, bob: Mailbox, caller: Caller
) -> None:
    asked = gmail.deliver(alice, written(From=BOB, Subject="Plan", Message_ID="<1@x>"))
    reply = written(To=BOB, Subject="Re: Plan", In_Reply_To="<1@x>", References="<1@x>")
    made = draft(caller, reply, threadId=asked.thread_id)
    put = caller.ask("PUT", f"drafts/{made['id']}", {"message": {"raw": encoded(reply + b"more")}}).json()
    sent = caller.post("drafts/send", {"id": made["id"]})
    assert {sent["threadId"], put["message"]["threadId"]} == {asked.thread_id}
    assert [message.id for message in alice.thread(asked.thread_id)] == [asked.id, sent["id"]]
    (arrived,) = bob.labelled("INBOX")
    assert arrived.raw.endswith(b"more")


def test_a_draft_may_lack_recipients_but_not_have_impossible_ones(caller: Caller, alice: Mailbox) -> None:
    made = draft(caller, written(Subject="later"))
    assert refusal(caller.ask("POST", "drafts/send", {"id": made["id"]}))[2] == "Recipient address required"
    assert list(alice.drafts) == [made["id"]]
    wrong = {"message": {"raw": encoded(written(To="human@f", Subject="x"))}}
    assert refusal(caller.ask("POST", "drafts", wrong))[2] == "Invalid To header"
    assert refusal(caller.ask("POST", "drafts", {}))[2] == "Missing draft message"


def test_what_is_sent_may_come_along_with_the_draft_or_without_one(
    gmail: FakeGmail, alice: Mailbox, caller: Caller
) -> None:
    made = draft(caller, written(To=BOB, Subject="old"))
    caller.post("drafts/send", {"id": made["id"], "message": {"raw": encoded(written(To=BOB, Subject="new"))}})
    caller.post("drafts/send", {"message": {"raw": encoded(written(To=BOB, Subject="alone"))}})
    assert [message.subject for message in alice.labelled("SENT")] == ["alone", "new"]
    assert len(gmail.sent) == 2
    assert alice.drafts == {}
    assert refusal(caller.ask("POST", "drafts/send", {"id": made["id"]}))[:2] == (404, "notFound")


def test_drafts_are_listed_page_by_page(caller: Caller) -> None:
    made = [draft(caller, written(Subject=f"d{number}"))["id"] for number in range(3)]
    first = caller.get("drafts", maxResults=2)
    second = caller.get("drafts", maxResults=2, pageToken=first["nextPageToken"])
    assert [one["id"] for page in (first, second) for one in page["drafts"]] == made[::-1]
    assert [one["id"] for one in caller.get("drafts", q="subject:d1")["drafts"]] == [made[1]]
    assert refusal(caller.ask("GET", "drafts", q="d1", pageToken=first["nextPageToken"]))[2] == "Invalid pageToken"


def test_deleting_the_message_of_a_draft_deletes_the_draft(caller: Caller, alice: Mailbox) -> None:
    made = draft(caller, written(Subject="x"))
    caller.ask("DELETE", f"messages/{alice.drafts[made['id']]}")
    assert alice.drafts == {}
    assert refusal(caller.ask("GET", f"drafts/{made['id']}"))[0] == 404
    assert refusal(caller.ask("PUT", f"drafts/{made['id']}", {"message": {"raw": encoded(b"x")}}))[0] == 404


def test_filters_act_on_what_arrives(gmail: FakeGmail, alice: Mailbox, bob: Mailbox, caller: Caller) -> None:
    alice.forwarding_addresses.add(BOB)
    rule = {
        "criteria": {"from": "news@x.example OR info@x.example", "negatedQuery": "urgent"},
        "action": {"addLabelIds": ["STARRED"], "removeLabelIds": ["INBOX"], "forward": BOB},
    }
    caller.post("settings/filters", rule)
    kept = gmail.deliver(alice, written("urgent", From="news@x.example", Subject="a"))
    moved = gmail.deliver(alice, written("calm", From="info@x.example", Subject="b"))
    assert kept.labels == {"INBOX", "UNREAD"}
    assert moved.labels == {"STARRED", "UNREAD"}
    assert [message.subject for message in bob.labelled("INBOX")] == ["b"]
    assert refusal(caller.ask("POST", "settings/filters", rule))[1:] == ("failedPrecondition", "Filter already exists")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"action": {"addLabelIds": ["STARRED"]}}, "Invalid criteria"),
        ({"criteria": {"from": "x"}}, "Invalid action"),
        ({"criteria": {"from": "x"}, "action": {"addLabelIds": ["Dianne"]}}, "Invalid label: Dianne"),
        ({"criteria": {"from": "x"}, "action": {"addLabelIds": ["DRAFT"]}}, "Invalid label: DRAFT"),
        ({"criteria": {"from": "x"}, "action": {"forward": "e@x.example"}}, "Unrecognized forwarding address"),
    ],
)
def test_a_filter_that_cannot_work_is_refused(caller: Caller, rule: dict[str, object], message: str) -> None:
    assert refusal(caller.ask("POST", "settings/filters", rule)) == (400, "invalidArgument", message)
    assert caller.get("settings/filters") == {}


def test_an_alias_is_made_only_for_a_service_account_with_authority_over_the_domain(
    gmail: FakeGmail, alice: Mailbox
) -> None:
    alias = {"sendAsEmail": "sales@elsewhere.example"}
    with Caller(gmail, alice, gmail.token(alice, {SHARING})) as caller:
        assert refusal(caller.ask("POST", "settings/sendAs", alias))[:2] == (403, "forbidden")
        assert refusal(caller.ask("DELETE", f"settings/sendAs/{alice.address}"))[:2] == (403, "forbidden")
    with Caller(gmail, alice, gmail.token(alice, {SHARING}, delegated=True)) as caller:
        assert caller.post("settings/sendAs", alias)["verificationStatus"] == "pending"
        assert refusal(caller.ask("POST", "settings/sendAs", alias))[:2] == (409, "alreadyExists")
        assert refusal(caller.ask("POST", "settings/sendAs", {"sendAsEmail": "x"}))[:2] == (400, "invalidArgument")
        told = refusal(caller.ask("DELETE", f"settings/sendAs/{alice.address}"))
        assert told[:2] == (400, "failedPrecondition")


@pytest.mark.parametrize(
    "away",
    [
        {"enableAutoReply": True},
        {"enableAutoReply": True, "responseSubject": "Away", "startTime": "5", "endTime": "5"},
        {"startTime": "6", "endTime": "5"},
    ],
)
def test_a_vacation_that_cannot_be_is_refused(alice: Mailbox, caller: Caller, away: dict[str, object]) -> None:
    assert refusal(caller.ask("PUT", "settings/vacation", away))[:2] == (400, "failedPrecondition")
    assert caller.get("settings/vacation") == {"enableAutoReply": False}
    away = {"enableAutoReply": True, "responseBodyPlainText": "x", "startTime": 0, "endTime": "1"}
    assert caller.ask("PUT", "settings/vacation", away).json()["startTime"] == "0"
