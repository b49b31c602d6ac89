"""Tool calls on a mailbox that speaks Gmail's IMAP: what really goes over the wire, and what comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from imapclient import IMAPClient
from mcp import Client
from tests.flows.caller import Caller
from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot
from tests.peers.gmail_imap import FOLDERS, GmailImap, gmail_imap

from postroom.doors.mcp.serve import server_for
from postroom.providers.querying import judging
from postroom.settings import Settings, build

ALL_MAIL = "[Gmail]/All Mail"

MAILS = {
    "party": ("Garden party", "Bring lemonade and say hi.", ""),
    "reminder": ("Reminder", "The invoice is overdue.", ""),
    "harbour": ("Harbour", "Signed in C:\\temp, liebe Grüße.", "invoice-4711.pdf"),
}


def letter(key: str, hour: int) -> bytes:
    subject, text, filename = MAILS[key]
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ada <ada@friends.example>", "me@example.test", subject
    message["Date"], message["Message-ID"] = f"Mon, 1 Jun 2026 {hour}:00:00 +0000", f"<{key}@seed.example>"
    message.set_content(text)
    if filename:
        message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename=filename)
    return message.as_bytes()


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with running_dovecot(settings=FOLDERS) as server:
        yield server


@pytest.fixture(scope="module")
def gmail(dovecot: Dovecot) -> Iterator[GmailImap]:
    with gmail_imap(dovecot.imap) as peer:
        yield peer


@pytest.fixture
def settings(dovecot: Dovecot, gmail: GmailImap, tmp_path: Path) -> Settings:
    account = {
        "name": "alice",
        "provider": "imap",
        "address": dovecot.new_user("alice"),
        "host": dovecot.host,
        "port": gmail.port,
        "security": "none",
        "password": PASSWORD,
    }
    return build({"accounts": [account]}, home=tmp_path)


@pytest.fixture
def beside(settings: Settings, gmail: GmailImap) -> Iterator[Any]:
    """Another program on the same mailbox, whose inbox holds the mails, oldest first."""
    with IMAPClient("127.0.0.1", gmail.port, ssl=False, timeout=20) as client:
        client.login(settings.accounts[0].address, PASSWORD)
        for hour, key in enumerate(MAILS, 10):
            client.append("INBOX", letter(key, hour))
        client.select_folder("INBOX")
        yield client


@pytest.fixture
async def call(settings: Settings, beside: Any, gmail: GmailImap) -> AsyncIterator[Caller]:
    gmail.forget()
    async with Client(server_for(settings)) as client:
        yield Caller(client)


async def subjects(call: Caller, query: str) -> list[str]:
    return [row["subject"] for row in (await call.ok("search_emails", query=query))["results"]]


@pytest.mark.parametrize(
    ("query", "asked", "found"),
    [
        ("lemonade", ['"lemonade"'], ["Garden party"]),
        ("lemon", ['"lemon"'], []),
        ('"is overdue"', ['"is overdue"'], ["Reminder"]),
        ("has:attachment", ["has:attachment"], ["Harbour"]),
        ("filename:4711", ['filename:"4711"', "has:attachment", 'filename:"4711"'], ["Harbour"]),
        ("filename:nvoice-47", ['filename:"nvoice-47"', "has:attachment", 'filename:"nvoice-47"'], ["Harbour"]),
        ("Grüße", ['"Grüße"'], ["Harbour"]),
        ("grüße lemonade", ['"grüße"', '"lemonade"'], []),
        ("lemonade OR Grüße", ['"lemonade"', '"Grüße"'], ["Harbour", "Garden party"]),
        ("-lemonade", ['"lemonade"'], ["Harbour", "Reminder"]),
        ("-(lemonade OR has:attachment)", ['"lemonade"', "has:attachment"], ["Reminder"]),
        (r'"C:\\temp"', ['"C: temp"'], ["Harbour"]),
        (r'"say \"hi\""', ['"say  hi"'], ["Garden party"]),
        ('" OR in:anywhere "', ['"OR in:anywhere"'], []),
        (r'"x\" OR in:anywhere \"y"', ['"x  OR in:anywhere  y"'], []),
        (r'"x\\\" OR lemonade OR \\\"y"', ['"x   OR lemonade OR   y"'], []),
        ('"x” OR lemonade OR “y"', ['"x  OR lemonade OR  y"'], []),
        ('"a} OR {lemonade} -("', ['"a} OR {lemonade} -("'], []),
        ("lemonade after:2026-05-01", ['"lemonade"', '"lemonade"'], ["Garden party"]),
        (
            "overdue OR before:2026-06-01T10:30:00Z",
            ['"overdue"', '"overdue"', '"overdue"'],
            ["Reminder", "Garden party"],
        ),
    ],
)
async def test_gmail_is_asked_in_its_own_words(
    call: Caller, gmail: GmailImap, query: str, asked: list[str], found: list[str]
) -> None:
    assert await subjects(call, f"in:inbox ({query})") == found
    assert gmail.queries == [f"in:anywhere {words}" for words in asked]


async def test_a_query_gets_neither_out_of_its_quotes_nor_out_of_its_command(call: Caller, gmail: GmailImap) -> None:
    await call.ok("search_emails", query='in:inbox "x\\" UID 1:* \\\\\\" NOT \\"y" lemonade')
    (search,) = [command for command in gmail.commands if b"X-GM-RAW" in command]
    assert search.endswith(
        b' UNDELETED X-GM-RAW "in:anywhere \\"x  UID 1:*    NOT  y\\"" X-GM-RAW "in:anywhere \\"lemonade\\""\r\n'
    )


async def test_trash_and_spam_are_searched_where_they_are_named(call: Caller, beside: Any) -> None:
    beside.append("[Gmail]/Trash", letter("party", 9))
    beside.append("[Gmail]/Spam", letter("reminder", 9))
    assert await subjects(call, "in:trash lemonade") == ["Garden party"]
    assert await subjects(call, "in:junk overdue") == ["Reminder"]


async def test_the_beginning_of_a_word_is_looked_for_here(call: Caller) -> None:
    assert await subjects(call, "in:inbox lemon*") == ["Garden party"]
    assert await subjects(call, "in:inbox -lemon* -overd*") == ["Harbour"]
    assert await subjects(call, "in:inbox (overd* OR Grüße)") == ["Harbour", "Reminder"]
    assert await subjects(call, "in:inbox grusse*") == ["Harbour"], "ß is ss where words are compared here"
    assert await subjects(call, "in:inbox emonad*") == []


async def test_a_beginning_that_too_many_mails_could_have_is_refused_with_advice(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "READ_WHOLE", 2)
    error = await call.error("search_emails", query="in:inbox lemon*")
    assert error["code"] == "INVALID_REQUEST"
    assert "invoice OR invoices" in error["message"]
    assert await subjects(call, "in:inbox lemon* subject:garden") == ["Garden party"], "narrowed, it is few enough"


@pytest.mark.parametrize("label", ["todo", "Muy Importante", "Grüße & Co", 'say "hi"', "R&D", "Clients/North", "a\\b"])
async def test_labels_are_gmails_own(call: Caller, beside: Any, gmail: GmailImap, label: str) -> None:
    email_id = await call.email_id("in:inbox lemonade")
    assert (await call.ok("apply_label", email_id=[email_id], label=label))["succeeded"] == 1
    assert beside.get_gmail_labels([1]) == {1: [label]}
    assert beside.get_flags([1])[1] in ((), (b"\\Recent",)), "no keyword beside it"
    (row,) = (await call.ok("search_emails", query=_labelled(label)))["results"]
    assert (row["subject"], row["labels"]) == ("Garden party", [label])
    assert any(b"X-GM-LABELS" in command and b"SEARCH" in command for command in gmail.commands)
    assert (await call.ok("read_email", email_id=email_id))["labels"] == [label]
    assert (await call.ok("remove_label", email_id=[email_id], label=label))["succeeded"] == 1
    assert beside.get_gmail_labels([1]) == {1: []}


def _labelled(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'in:inbox label:"{escaped}"'


async def test_gmails_own_marks_are_no_labels(call: Caller, beside: Any) -> None:
    beside.add_gmail_labels([1], ["\\Important", "work"])
    beside.add_flags([1], ["\\Flagged"])
    (row,) = (await call.ok("search_emails", query="in:inbox lemonade"))["results"]
    assert (row["labels"], row["starred"]) == (["work"], True)


@pytest.mark.parametrize("label", ["Inbox", "[Gmail]/Sent Mail", "\\Sent"])
async def test_a_label_that_gmail_keeps_for_itself_is_refused_and_the_mail_is_as_before(
    call: Caller, beside: Any, label: str
) -> None:
    email_id = await call.email_id("in:inbox lemonade")
    result = await call("apply_label", email_id=[email_id], label=label)
    answer = result.structured_content
    assert result.is_error
    assert answer is not None
    assert (answer["succeeded"], answer["failed"]) == (0, 1)
    assert answer["results"][0]["error"]["code"] == "INVALID_REQUEST"
    assert beside.get_gmail_labels([1]) == {1: []}


async def test_a_mail_with_a_label_lies_in_two_folders_and_is_one_mail(call: Caller, beside: Any) -> None:
    beside.create_folder("work")
    beside.copy([1], "work")
    page = await call.ok("search_emails", query="lemonade")
    assert [(row["mailbox"], row["labels"]) for row in page["results"]] == [("INBOX", [])]
    assert (page["total_count"], page["has_more"]) == (1, False)
    thread = await call.ok("get_thread", thread_id=page["results"][0]["thread_id"])
    assert [email["mailbox"] for email in thread["emails"]] == ["INBOX"]
    (row,) = (await call.ok("list_emails", mailbox="work"))["results"]
    assert row["labels"] == ["work"], "the folder is a label of its mails"


async def test_an_archived_mail_is_found_in_all_mail_and_the_others_where_they_lie(call: Caller, beside: Any) -> None:
    beside.copy([1, 2], ALL_MAIL)
    beside.delete_messages([2])
    beside.expunge()
    page = await call.ok("search_emails", query="lemonade OR overdue")
    assert [(row["subject"], row["mailbox"]) for row in page["results"]] == [
        ("Reminder", ALL_MAIL),
        ("Garden party", "INBOX"),
    ]
    assert await subjects(call, "-in:inbox lemonade") == [], "its copy in All Mail does not take it out of the inbox"
    assert await subjects(call, f'in:"{ALL_MAIL}"') == ["Reminder", "Garden party"]


async def test_an_old_version_of_a_draft_ends_in_trash(call: Caller, beside: Any) -> None:
    """Removed from Drafts it would only lose that label, and be found in All Mail ever after."""
    draft = await call.ok("create_draft", to=["ada@friends.example"], subject="First", body="One.")
    await call.ok("update_draft", draft_id=draft["draft_id"], subject="Second")
    assert _subjects_in(beside, "[Gmail]/Drafts") == ["Second"]
    assert _subjects_in(beside, "[Gmail]/Trash") == ["First"]


def _subjects_in(client: Any, folder: str) -> list[str]:
    client.select_folder(folder, readonly=True)
    return [item[b"ENVELOPE"].subject.decode() for item in client.fetch(client.search(), ["ENVELOPE"]).values()]


async def test_a_draft_to_an_address_beyond_ascii_is_announced_as_utf8(
    call: Caller, beside: Any, gmail: GmailImap
) -> None:
    await call.ok("create_draft", to=["jürgen@bücher.example"], subject="Grüße", body="Hallo.")
    assert any(b"UTF8 (~{" in command for command in gmail.commands)
    beside.select_folder("[Gmail]/Drafts", readonly=True)
    (mail,) = beside.fetch(beside.search(), ["BODY.PEEK[HEADER]"]).values()
    assert "To: jürgen@bücher.example".encode() in mail[b"BODY[HEADER]"]
