"""Messages as Gmail shows them, read like all others."""

from __future__ import annotations

import base64
import json
from email.message import EmailMessage
from typing import Any

import pytest
from tests.contract.mails import PDF

from postroom.mime.read.parse import parse
from postroom.model.address import Address
from postroom.model.query.tree import And, Correspondent, Not, Or, Subject, Text
from postroom.providers.gmail.mail.labels import LabelSet
from postroom.providers.gmail.mail.rebuild import numbered, rebuilt
from postroom.providers.gmail.search.words import ALL, NONE, Speaker, any_of, spoken

from .conftest import Box


def part(kind: str, text: str = "", *parts: Any, **headers: str) -> dict[str, Any]:
    shown = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
    body = {"data": base64.urlsafe_b64encode(text.encode()).decode(), "size": len(text)} if text else {"size": 0}
    return {"mimeType": kind, "headers": shown, "body": body, "parts": list(parts)}


@pytest.mark.parametrize(
    ("header", "sender"),
    [
        ("Ada <ada@x.example>", Address("ada@x.example", "Ada")),
        ("Müller, Anna <anna@x.example>", Address("anna@x.example", "Müller, Anna")),
        ("boss@firm.example <evil@x.example>", Address("evil@x.example", "boss@firm.example")),
        ("<boss@firm.example> <evil@x.example>", Address("evil@x.example", "<boss@firm.example>")),
        ("boss@firm.example, <evil@x.example>", Address("evil@x.example", "boss@firm.example,")),
        ('"Boss" <boss@firm.example> <evil@x.example>', Address("evil@x.example", '"Boss" <boss@firm.example>')),
        ('"Doe, Jo" <jo@x.example>', Address("jo@x.example", "Doe, Jo")),
        ("bare@x.example", Address("bare@x.example")),
    ],
)
def test_a_name_never_passes_for_the_address(header: str, sender: Address) -> None:
    assert parse(rebuilt(part("text/plain", "x", From=header))).sender == sender


def test_several_recipients_with_and_without_names_are_told_apart() -> None:
    to = "a@x.example, Müller, Anna <anna@x.example>, b@x.example, Bo <bo@x.example>"
    read = parse(rebuilt(part("text/plain", "x", To=to))).to
    assert [(one.email, one.name) for one in read] == [
        ("a@x.example", ""),
        ("anna@x.example", "Müller, Anna"),
        ("b@x.example", ""),
        ("bo@x.example", "Bo"),
    ]


def test_a_line_break_in_a_value_makes_no_new_header() -> None:
    read = parse(rebuilt(part("text/plain", "x", Subject="Hi\r\nBcc: evil@x.example", From="a@x.example")))
    assert (read.subject, read.bcc) == ("Hi Bcc: evil@x.example", ())


def test_texts_are_utf8_whatever_they_say_and_keep_how_their_lines_flow() -> None:
    flowed = 'text/plain; charset=iso-8859-1; format=flowed; delsp=yes; name="x.txt"'
    read = parse(
        rebuilt(part("text/plain", "Grüße aus \r\nKöln", Content_Type=flowed, Content_Transfer_Encoding="8bit"))
    )
    assert read.body.text == "Grüße ausKöln"


def test_parts_have_their_imap_numbers() -> None:
    inner = part("multipart/alternative", "", part("text/plain", "a"), part("text/html", "<p>a</p>"))
    whole = part("multipart/mixed", "", inner, part("application/pdf", "", Content_Disposition="attachment"))
    assert [number for number, _ in numbered(whole)] == ["1.1", "1.2", "2"]
    assert [file.part for file in parse(rebuilt(whole)).attachments] == ["2"]
    assert [number for number, _ in numbered(part("text/plain", "a"))] == ["1"]


def test_a_tree_that_never_ends_is_cut() -> None:
    deep: dict[str, Any] = part("text/plain", "bottom")
    for _ in range(400):
        deep = part("multipart/mixed", "", deep)
    assert parse(rebuilt(deep)).size
    wide = part("multipart/mixed", "", *(part("text/plain", "x") for _ in range(2000)))
    assert len(rebuilt(wide)) < 100_000


async def test_an_attached_message_is_one_attachment_and_its_parts_are_not_ours(box: Box) -> None:
    inner, outer = EmailMessage(), EmailMessage()
    inner["Subject"] = "Inside"
    inner.set_content("inner text")
    inner.add_attachment(PDF, maintype="application", subtype="pdf", filename="inner.pdf")
    outer["From"], outer["Subject"] = "a@x.example", "Outside"
    outer.set_content("outer text")
    outer.add_attachment(inner)
    ref = box.gmail.deliver(box.user, outer.as_bytes()).id
    message = await box.mailbox.fetch(ref)
    (file,) = message.attachments
    assert (file.mime_type, file.part) == ("message/rfc822", "2")
    assert message.body.text.strip() == "outer text"
    assert b"inner text" in await box.mailbox.fetch_part(ref, "2")


async def test_a_text_that_gmail_keeps_apart_is_fetched_with_the_message(box: Box) -> None:
    ref = box.deliver()
    long = part("text/plain", "", Content_Type="text/plain")
    long["body"] = {"attachmentId": "kept-apart", "size": 9}
    box.gmail.answer_next("GET", "messages.get", json.dumps({"id": ref, "threadId": ref, "payload": long}))
    data = base64.urlsafe_b64encode(b"long text").decode()
    box.gmail.answer_next("GET", "messages.attachments.get", json.dumps({"size": 9, "data": data}))
    assert (await box.mailbox.fetch(ref)).body.text == "long text"


def test_words_are_joined_as_gmail_reads_them() -> None:
    say = Speaker(LabelSet())
    either = Or((Text("a"), And((Text("b"), Not(Subject("c"))))))
    assert spoken(either, say).upper == '{"a" ("b" -subject:"c")}'
    assert spoken(Not(either), say).upper == '-{"a" ("b" -subject:"c")}'
    assert spoken(Not(Not(Text("a"))), say).upper == '"a"'
    assert spoken(Text('say "hi" OR x'), say).upper == '"say  hi  OR x"'
    to = spoken(Correspondent("to", "anna"), say)
    assert (to.upper, to.lower) == ('to:"anna"', 'to:"anna" -cc:"anna" -bcc:"anna"')
    assert (any_of([NONE, NONE]), any_of([ALL, "x"])) == (NONE, ALL)
