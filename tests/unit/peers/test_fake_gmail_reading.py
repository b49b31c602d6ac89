"""What the fake Gmail shows of a message, and what its search finds."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any

import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.caller import Caller, decoded, refusal, written
from tests.peers.gmail.mailbox import Mailbox

DAY = 86_400


def a_mail_with_everything() -> bytes:
    mail = EmailMessage()
    mail["From"] = "Jörg Müller <jm@x.example>"
    mail["To"] = "alice@gmail.example"
    mail["Subject"] = "Grüße aus Köln, wo es heute den ganzen Tag und auch die ganze Nacht lang geregnet hat"
    mail.set_content('Hällo <Welt> & "so" it\'s', charset="iso-8859-1")
    mail.add_alternative("<p>Hällo</p>", subtype="html")
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Übersicht 2026.pdf")
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("inside")
    mail.add_attachment(inner)
    return mail.as_bytes()


def test_parts_are_numbered_and_texts_come_in_utf8_whatever_they_were_written_in(
    gmail: FakeGmail, alice: Mailbox, caller: Caller
) -> None:
    stored = gmail.deliver(alice, a_mail_with_everything())
    message = caller.get(f"messages/{stored.id}")
    body, file, forwarded = message["payload"]["parts"]
    assert [part["partId"] for part in (message["payload"], body, *body["parts"], file, forwarded)] == [
        *("", "0", "0.0", "0.1", "1", "2")
    ]
    assert body["body"] == {"size": 0}
    assert decoded(body["parts"][0]["body"]["data"]).decode().strip() == 'Hällo <Welt> & "so" it\'s'
    headers = {one["name"]: one["value"] for one in message["payload"]["headers"]}
    assert headers["From"] == "Jörg Müller <jm@x.example>"
    assert headers["Subject"].endswith("lang geregnet hat")
    assert (file["filename"], file["body"]["size"]) == ("Übersicht 2026.pdf", 4)
    assert "data" not in file["body"]
    assert forwarded["mimeType"] == "message/rfc822"
    assert [part["partId"] for part in forwarded["parts"]] == ["2.0"]
    assert message["snippet"] == "Hällo &lt;Welt&gt; &amp; &quot;so&quot; it&#39;s"
    assert message["sizeEstimate"] == len(stored.raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"no header at all",
        b"\r\n\r\nonly a body",
        b"Subject: \xff\xfe caf\xe9\r\nFrom: =?x-unknown?q?=41?= <a@x>\r\n\r\nbody \xe9",
        b"Content-Type: text/plain; charset=klingon\r\n\r\n\xff",
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nnever closed",
        b"Content-Type: multipart/mixed\r\n\r\nno boundary",
        b"Content-Type: application/pdf; name*=utf-8''%FF.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n@@@",
        b"Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nx",
        b"Date: yesterday\r\nSubject: folded\r\n over\r\n\tlines\r\n\r\nx",
    ],
)
def test_whatever_arrives_can_be_read(gmail: FakeGmail, alice: Mailbox, caller: Caller, raw: bytes) -> None:
    stored = gmail.deliver(alice, raw)
    assert decoded(caller.get(f"messages/{stored.id}", format="raw")["raw"]) == raw
    for form in ("full", "metadata", "minimal"):
        assert caller.get(f"messages/{stored.id}", format=form)["id"] == stored.id
    assert caller.get("threads")["threads"][0]["id"] == stored.id
    assert caller.ids("nonsense") == []


def test_attachment_ids_are_new_at_each_look_belong_to_one_message_and_end(
    gmail: FakeGmail, alice: Mailbox, caller: Caller
) -> None:
    one, two = (gmail.deliver(alice, a_mail_with_everything()) for _ in range(2))

    def file_id() -> str:
        return str(caller.get(f"messages/{one.id}")["payload"]["parts"][1]["body"]["attachmentId"])

    first, second = file_id(), file_id()
    assert first != second
    for each in (first, second):
        assert decoded(caller.get(f"messages/{one.id}/attachments/{each}")["data"]) == b"%PDF"
    wrong = (400, "invalidArgument", "Invalid attachment token")
    assert refusal(caller.ask("GET", f"messages/{two.id}/attachments/{first}")) == wrong
    gmail.forget_attachment_ids(alice)
    assert refusal(caller.ask("GET", f"messages/{one.id}/attachments/{first}")) == wrong


def test_a_message_without_labels_has_no_such_field_and_an_empty_list_neither(
    gmail: FakeGmail, alice: Mailbox, caller: Caller
) -> None:
    assert caller.get("messages") == {"resultSizeEstimate": 0}
    stored = gmail.deliver(alice, written(Subject="x"), labels=())
    assert "labelIds" not in caller.get(f"messages/{stored.id}", format="minimal")


SEARCHED: dict[str, tuple[bytes, set[str], float]] = {
    "invoice": (
        written(
            "Please pay the invoices.", From="Ann <ann@shop.example>", To="alice@gmail.example", Subject="Invoice 7"
        ),
        {"INBOX", "UNREAD"},
        0,
    ),
    "lunch": (
        written(
            "Lunch at noon?", From="ben@pals.example", To="team@x.example", Cc="alice@gmail.example", Subject="Lunch"
        ),
        {"INBOX", "STARRED", "CATEGORY_PERSONAL"},
        DAY,
    ),
    "list": (
        written("Weekly news", From="news@list.example", Subject="News", List_ID="<weekly.list.example>"),
        {"CATEGORY_PROMOTIONS"},
        2 * DAY,
    ),
    "spam": (written("Cheap invoice", From="x@spam.example", Subject="Win"), {"SPAM"}, 3 * DAY),
    "trash": (written("Old invoice", From="ann@shop.example", Subject="Gone"), {"TRASH"}, 4 * DAY),
    "sent": (
        written("Done", To="ben@pals.example", Bcc="eve@x.example", Subject="Re: Lunch", Message_ID="<s@x>"),
        {"SENT", "Label_1"},
        5 * DAY,
    ),
}
START = 1_790_000_000.0  # a day in September 2026, in California


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "invoice lunch list sent"),
        ("invoice", "invoice"),
        ("invoices", "invoice"),
        ("invoic", ""),
        ('"at noon"', "lunch"),
        ('"noon at"', ""),
        ("invoice OR lunch", "invoice lunch sent"),
        ("{invoice news}", "invoice list"),
        ("lunch -in:sent", "lunch"),
        ("subject:(lunch OR news)", "lunch list sent"),
        ("from:ann@shop.example", "invoice"),
        ("from:ann", "invoice"),
        ("to:alice", "invoice lunch"),
        ("to:me -cc:me", "invoice"),
        ("cc:alice", "lunch"),
        ("bcc:eve@x.example", "sent"),
        ("in:inbox", "invoice lunch"),
        ("is:unread", "invoice"),
        ("is:read in:inbox", "lunch"),
        ("is:starred", "lunch"),
        ("label:top-secret", "sent"),
        ("has:userlabels", "sent"),
        ("category:promotions", "list"),
        ("category:primary", "lunch"),
        ("list:weekly.list.example", "list"),
        ("in:archive", "list"),
        ("in:spam", "spam"),
        ("in:trash", "trash"),
        ("in:anywhere invoice", "invoice spam trash"),
        ("label:trash", "trash"),
        ("rfc822msgid:<s@x>", "sent"),
        (f"after:{int(START + 2 * DAY)}", "list sent"),
        (f"before:{int(START + DAY)}", "invoice"),
        ("after:2026/09/25", "sent"),
        ("newer_than:2d", "sent"),
        ("older_than:5d", "invoice"),
        ("larger:10M", ""),
        ("smaller:10M -subject:re", "invoice lunch list"),
    ],
)
def test_a_search_finds(query: str, expected: str, gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    gmail.clock = alice.clock = lambda: START + 6 * DAY
    alice.labels.create("Top secret")
    stored = {
        gmail.deliver(alice, raw, labels, when=START + after).id: name
        for name, (raw, labels, after) in SEARCHED.items()
    }
    assert sorted(stored[found] for found in caller.ids(query)) == sorted(expected.split())


def test_files_are_searched_by_name_and_by_being_there(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    gmail.deliver(alice, written(Subject="none"))
    stored = gmail.deliver(alice, b"Delivered-To: alice+x@gmail.example\r\n" + a_mail_with_everything())
    for query in (
        "has:attachment",
        "filename:pdf",
        'filename:"Übersicht 2026.pdf"',
        "deliveredto:alice+x@gmail.example",
    ):
        assert caller.ids(query) == [stored.id]
    assert caller.ids("filename:docx") == []


def test_spam_and_trash_are_listed_only_when_asked_for(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    kept = gmail.deliver(alice, written(Subject="a"))
    gone = gmail.deliver(alice, written(Subject="b"), {"TRASH"})
    assert caller.ids() == [kept.id]
    assert set(caller.ids(includeSpamTrash="true")) == {kept.id, gone.id}
    assert caller.ids(labelIds="TRASH") == [gone.id]
    assert caller.ids(labelIds=["INBOX", "UNREAD"]) == [kept.id]
    assert caller.ids(labelIds=["INBOX", "TRASH"]) == []


@pytest.mark.parametrize("query", ['"open', "(a", "a)", "colour:red", "larger:big", "is:lovely"])
def test_what_gmail_would_guess_is_refused(query: str, caller: Caller) -> None:
    assert refusal(caller.ask("GET", "messages", q=query))[:2] == (400, "invalidArgument")


def test_pages_do_not_shift_when_mail_arrives(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    stored = [gmail.deliver(alice, written(Subject=str(number)), when=START + number) for number in range(5)]
    first = caller.get("messages", maxResults=2)
    gmail.deliver(alice, written(Subject="new"), when=START + 99)
    second = caller.get("messages", maxResults=2, pageToken=first["nextPageToken"])
    third = caller.get("messages", maxResults=2, pageToken=second["nextPageToken"])
    seen = [message["id"] for page in (first, second, third) for message in page["messages"]]
    assert seen == [message.id for message in reversed(stored)]
    assert "nextPageToken" not in third
    assert first["resultSizeEstimate"] == 201


def test_a_page_token_is_good_for_its_own_list_only(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    for number in range(3):
        gmail.deliver(alice, written(Subject=f"m{number}"))
    token = caller.get("messages", maxResults=1)["nextPageToken"]
    wrong = (400, "invalidArgument", "Invalid pageToken")
    assert refusal(caller.ask("GET", "messages", pageToken="nonsense")) == wrong
    assert refusal(caller.ask("GET", "messages", pageToken=token, q="m1")) == wrong
    assert refusal(caller.ask("GET", "threads", pageToken=token)) == wrong


def test_no_page_is_longer_than_five_hundred(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    for _ in range(501):
        alice.add(b"Subject: x\r\n\r\n", {"INBOX"})
    assert len(caller.ids(maxResults=1000)) == 500
    assert len(caller.ids()) == 100
    assert refusal(caller.ask("GET", "messages", maxResults="-1"))[0] == 400


def test_history_tells_each_change_once_and_forgets(gmail: FakeGmail, alice: Mailbox, caller: Caller) -> None:
    start = caller.get("profile")["historyId"]
    stored = gmail.deliver(alice, written(Subject="x"))
    caller.post(f"messages/{stored.id}/modify", {"addLabelIds": ["STARRED"], "removeLabelIds": ["UNREAD"]})
    caller.post(f"messages/{stored.id}/trash")
    caller.ask("DELETE", f"messages/{stored.id}")

    def kinds(**params: Any) -> list[tuple[str, list[str]]]:
        told = caller.get("history", startHistoryId=start, **params).get("history", [])
        rows = [(name, entry) for record in told for name, entry in record.items() if name not in ("id", "messages")]
        return [(name, entry[0].get("labelIds", [])) for name, entry in rows]

    assert kinds() == [
        ("messagesAdded", []),
        ("labelsAdded", ["STARRED"]),
        ("labelsRemoved", ["UNREAD"]),
        ("labelsAdded", ["TRASH"]),
        ("labelsRemoved", ["INBOX"]),
        ("messagesDeleted", []),
    ]
    assert [name for name, _ in kinds(historyTypes=["labelAdded", "messageDeleted"])] == [
        *("labelsAdded", "labelsAdded", "messagesDeleted")
    ]
    assert [name for name, _ in kinds(labelId="UNREAD")] == ["messagesAdded", "labelsRemoved"]
    current = caller.get("history", startHistoryId=start)["historyId"]
    assert caller.get("history", startHistoryId=current) == {"historyId": current}
    later = str(int(current) + 1)
    assert refusal(caller.ask("GET", "history", startHistoryId=later))[:2] == (404, "notFound")
    gmail.forget_history(alice)
    assert refusal(caller.ask("GET", "history", startHistoryId=start))[:2] == (404, "notFound")
    assert refusal(caller.ask("GET", "history"))[2] == "Missing/invalid parameter: startHistoryId"
