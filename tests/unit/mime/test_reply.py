"""What an answer takes over from the mail it answers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postroom.mime.read.parse import extract_part, parse
from postroom.mime.write.compose import compose
from postroom.mime.write.reply import (
    draft_from,
    forward_subject,
    quote,
    reply_recipients,
    reply_subject,
    threading_for,
    without_blind_copies,
)
from postroom.model.address import Address
from postroom.model.draft import Draft, File, Importance, Threading
from postroom.model.message import Body, Envelope, Message

ME = "me@example.com"
ANNA = Address("anna@example.org", "Anna")
BOB = Address("bob@example.net", "Bob")
CARA = Address("cara@example.net")


def mail(**fields: object) -> Envelope:
    return Envelope(**{"ref": "1", "thread_ref": "t", "folder": "INBOX", "sender": ANNA, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("Budget", "Re: Budget"),
        ("Re: Budget", "Re: Budget"),
        ("RE: re: Budget", "Re: Budget"),
        ("AW: Budget", "Re: Budget"),
        ("Antw: SV: Budget", "Re: Budget"),
        ("Re[2]: Budget", "Re: Budget"),
        ("Re (3): Budget", "Re: Budget"),
        ("Réf: Budget", "Re: Budget"),
        ("Re : Budget", "Re: Budget"),
        ("回复：预算", "Re: 预算"),
        ("Re: Fwd: Budget", "Re: Fwd: Budget"),
        ("Fwd: Budget", "Re: Fwd: Budget"),
        ("Reading list: autumn", "Re: Reading list: autumn"),
        ("Result: fine", "Re: Result: fine"),
        ("Budget re: taxes", "Re: Budget re: taxes"),
        ("", "Re:"),
        ("Hello\r\nBcc: evil@example.net", "Re: Hello Bcc: evil@example.net"),
    ],
)
def test_a_reply_has_one_prefix(original: str, expected: str) -> None:
    assert reply_subject(original) == expected
    assert reply_subject(expected) == expected


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("Budget", "Fwd: Budget"),
        ("FW: Budget", "Fwd: Budget"),
        ("WG: TR: Budget", "Fwd: Budget"),
        ("fwd: Fwd: Budget", "Fwd: Budget"),
        ("Re: Budget", "Fwd: Re: Budget"),
        ("Trip: Rome", "Fwd: Trip: Rome"),
    ],
)
def test_a_forward_has_one_prefix(original: str, expected: str) -> None:
    assert forward_subject(original) == expected
    assert forward_subject(expected) == expected


def test_a_reply_goes_to_the_sender() -> None:
    assert reply_recipients(mail(to=(Address(ME), BOB), cc=(CARA,)), [ME], False) == ((ANNA,), ())


def test_a_reply_goes_where_the_sender_asks_for_it() -> None:
    assert reply_recipients(mail(reply_to=(BOB,)), [ME], False) == ((BOB,), ())


def test_a_reply_to_all_leaves_out_oneself_and_repeats_nobody() -> None:
    envelope = mail(to=(Address("ME@Example.com", "Me"), BOB, ANNA), cc=(CARA, Address("BOB@example.net"), BOB))
    assert reply_recipients(envelope, [ME], True) == ((ANNA,), (BOB, CARA))


def test_every_address_of_ones_own_is_left_out() -> None:
    envelope = mail(to=(Address(ME), Address("alias@example.com")), cc=(CARA,))
    assert reply_recipients(envelope, [ME, "alias@example.com"], True) == ((ANNA,), (CARA,))


def test_ones_own_sent_mail_is_followed_up_with_its_recipients() -> None:
    envelope = mail(sender=Address(ME), to=(ANNA, BOB), cc=(CARA,), reply_to=(Address(ME),))
    assert reply_recipients(envelope, [ME], False) == ((ANNA, BOB), ())
    assert reply_recipients(envelope, [ME], True) == ((ANNA, BOB), (CARA,))


def test_a_note_to_oneself_is_answered_to_oneself() -> None:
    envelope = mail(sender=Address(ME), to=(Address(ME),))
    assert reply_recipients(envelope, [ME], True) == ((Address(ME),), ())


def test_entries_without_an_address_name_nobody() -> None:
    envelope = mail(to=(Address("undisclosed-recipients:;"), Address("")), cc=(CARA,))
    assert reply_recipients(envelope, [ME], True) == ((ANNA,), (CARA,))
    assert reply_recipients(mail(sender=Address("")), [ME], False) == ((), ())


def test_a_name_that_shows_another_address_is_dropped() -> None:
    envelope = mail(sender=Address("evil@example.net", "boss@example.com"))
    assert reply_recipients(envelope, [ME], False)[0] == (Address("evil@example.net"),)


def test_a_name_with_a_line_break_is_brought_onto_one_line() -> None:
    envelope = mail(sender=Address("anna@example.org", "Anna\r\nBcc: x"))
    assert reply_recipients(envelope, [ME], False)[0][0].name == "Anna Bcc: x"


def test_a_reply_continues_the_thread() -> None:
    envelope = mail(message_id="<3@x>", in_reply_to="<2@x>", references=("<1@x>", "<2@x>"))
    assert threading_for(envelope) == Threading("<3@x>", ("<1@x>", "<2@x>", "<3@x>"), "t")


def test_without_references_the_answered_mail_stands_in() -> None:
    envelope = mail(message_id="<3@x>", in_reply_to="Your mail <2@x>")
    assert threading_for(envelope).references == ("<2@x>", "<3@x>")


def test_ids_that_could_not_stand_in_a_header_are_left_out() -> None:
    envelope = mail(message_id="<3@x>", references=("<1@x>", "<a\r\nBcc: b@c>", "naked@x", "<ü@x>"))
    assert threading_for(envelope).references == ("<1@x>", "<3@x>")
    assert threading_for(mail(message_id="no brackets")) == Threading("", (), "t")


def test_a_quoted_original_names_its_author_and_marks_every_line() -> None:
    date = datetime(2026, 1, 31, 9, 5, tzinfo=UTC)
    assert quote("Hello\n\n> old\nbye\n\n", ANNA, date) == (
        "On 2026-01-31 at 09:05 +0000, Anna <anna@example.org> wrote:\n\n> Hello\n>\n>> old\n> bye"
    )
    assert quote("x", Address("a@b.cc"), None) == "a@b.cc wrote:\n\n> x"


# --- a saved draft, read back ---------------------------------------------------------------------------------------

FULL = Draft(
    sender=Address(ME, "Jürgen Müller"),
    to=(ANNA, CARA),
    cc=(BOB,),
    bcc=(Address("dora@example.net", "Dora, D."),),
    reply_to=(Address("desk@example.com"),),
    subject="Grüße — Angebot über 3 Wörter",
    text="Hello\n\n-- \nJ.",
    html="<p>Hello</p>",
    files=(
        File("Übersicht.pdf", "application/pdf", b"%PDF\0"),
        File("logo.png", "image/png", b"png", inline=True, content_id="logo@x"),
    ),
    forwarded=b"Subject: original\r\n\r\nold words\r\n",
    importance=Importance.HIGH,
    threading=Threading("<2@x>", ("<1@x>", "<2@x>")),
)


def reopened(draft: Draft) -> Draft:
    raw = compose(draft, message_id="<d@x>", date=datetime(2026, 1, 31, tzinfo=UTC), keep_bcc=True)
    parsed = parse(raw)
    files = [
        File(a.filename, a.mime_type, extract_part(raw, a.part), a.inline, a.content_id) for a in parsed.attachments
    ]
    return draft_from(parsed, files)


def test_a_saved_draft_comes_back_whole() -> None:
    again = reopened(FULL)
    assert sorted(again.files, key=lambda file: file.filename) == sorted(FULL.files, key=lambda file: file.filename)
    for name in Draft.__slots__:
        if name != "files":
            assert getattr(again, name) == getattr(FULL, name), name


def test_a_draft_saved_again_and_again_does_not_change() -> None:
    once = reopened(FULL)
    assert reopened(once) == once


def test_a_plain_reading_made_from_html_is_made_anew() -> None:
    draft = Draft(sender=Address(ME), html="<p>Dear <b>Anna</b></p>")
    again = reopened(draft)
    assert (again.text, again.html) == ("", draft.html)


def test_a_draft_that_a_provider_opened_keeps_its_thread() -> None:
    envelope = mail(sender=Address(ME), subject="Hi", in_reply_to="<1@x>", references=("<1@x>",), draft=True)
    draft = draft_from(Message(envelope, Body(text="x\r\n")), ())
    assert draft.threading == Threading("<1@x>", ("<1@x>",), "t")
    assert (draft.text, draft.importance) == ("x", Importance.NORMAL)


@pytest.mark.parametrize("line_break", ["\r\n", "\n"])
def test_whom_a_mail_went_to_blindly_is_taken_out_of_its_headers_alone(line_break: str) -> None:
    lines = [
        "Bcc: one@x",
        "From: me@x",
        "BCC : two@x,",
        "\tthree@x",
        "To: you@x",
        "Resent-Bcc: four@x",
        "",
        "Bcc: words",
    ]
    kept = ["From: me@x", "To: you@x", "", "Bcc: words"]
    assert without_blind_copies(line_break.join(lines).encode()) == line_break.join(kept).encode()
    assert without_blind_copies(b"From: me@x\nBcc: one@x") == b"From: me@x\n"
    assert without_blind_copies(b"\nBcc: words") == b"\nBcc: words"
