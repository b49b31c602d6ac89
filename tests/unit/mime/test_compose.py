"""What leaves the house must be read back by others exactly as it was meant."""

from __future__ import annotations

import email
import email.header
import email.policy
import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import fast_mail_parser
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postroom.mime.write.compose import compose, new_message_id
from postroom.mime.write.reply import reply_subject
from postroom.model.address import Address
from postroom.model.draft import Draft, File, Importance, Threading
from postroom.model.errors import InvalidRequest

DATE = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
ANNA = Address("anna@example.com", "Anna Müller")
BOB = Address("bob@example.org", "Bob")
SIMPLE = Draft(sender=ANNA, to=(BOB,), subject="Hello", text="Good morning")
LINE_BREAKS = ["\r", "\n", "\r\n", "\0", "\x0b", "\x85", "\u2028", "\u2029", "\ud800"]


def written(draft: Draft, **more: bool) -> bytes:
    return compose(draft, message_id="<id@example.com>", date=DATE, **more)


def read(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def content(part: EmailMessage) -> str:
    return str(part.get_content()).replace("\r\n", "\n")


def header_lines(raw: bytes) -> list[bytes]:
    return raw.partition(b"\r\n\r\n")[0].split(b"\r\n")


# --- read back by others -------------------------------------------------------------------------------------------


def _is_one_line(text: str) -> bool:
    return not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text)


def _survives_readers(text: str) -> bool:
    """Both readers trim outer blanks of any kind."""
    return text == text.strip()


one_line = st.text(st.characters(codec="utf-8"), max_size=120).filter(_is_one_line).filter(_survives_readers)
names = st.text(st.characters(codec="utf-8"), max_size=12).filter(_is_one_line).filter(_survives_readers)
bodies = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=400)


def _is_wrapped(name: str) -> bool:
    """The standard library takes quotation marks and angle brackets off a name even where they belong to it."""
    return (name[:1], name[-1:]) in (('"', '"'), ("<", ">"))


filenames = (
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
    .filter(_is_one_line)
    .filter(_survives_readers)
    .filter(lambda name: not _is_wrapped(name))
)


def canonical(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines if lines.endswith("\n") or not lines else lines + "\n"


@given(one_line)
@example("Grüße aus München, " * 10 + "!")
@example("=?utf-8?q?not_encoded?=")
@example("x" * 500)
@example("two  spaces and\ta tab")
@example("日本語の件名" * 20)
@example("👩‍👩‍👧‍👦" * 12)
def test_any_subject_is_read_back_exactly(subject: str) -> None:
    raw = written(replace(SIMPLE, subject=subject))
    assert (read(raw)["subject"] or "") == subject
    assert fast_mail_parser.parse_email(raw).subject == subject
    assert all(len(line) <= 78 for line in header_lines(raw))


@given(names, names)
@example('Bob "the builder" \\ Ltd.', "Doe, John (ext)")
@example("@", "<x@y.zz>")
@example("=?utf-8?b?eA==?=", "a.b")
def test_any_name_is_read_back_exactly(one: str, other: str) -> None:
    people = (Address("one@example.com", one), Address("other@example.com", other))
    raw = written(replace(SIMPLE, to=people))
    expected = [(person.name, person.email) for person in people]
    assert [(a.display_name, a.addr_spec) for a in read(raw)["to"].addresses] == expected
    assert [(a.display_name or "", a.address) for a in fast_mail_parser.parse_email(raw).to] == expected


@given(st.text(st.characters(codec="utf-8"), max_size=150).filter(_is_one_line).filter(_survives_readers))
def test_long_names_survive_in_several_encoded_words(name: str) -> None:
    raw = written(replace(SIMPLE, to=(Address("one@example.com", name), BOB)))
    read_back = [(a.display_name or "", a.address) for a in fast_mail_parser.parse_email(raw).to]
    assert read_back == [(name, "one@example.com"), ("Bob", "bob@example.org")]
    assert all(len(line) <= 78 for line in header_lines(raw))


@given(bodies, bodies)
@example("a long paragraph " * 60, "<p>" + "x" * 2000 + "</p>")
@example("From me\n.\n-- \nbye", "\r\n\r\r\n\n")
@example("=\n==20\n=3D", "日本" * 200)
def test_any_text_and_html_are_read_back_exactly(text: str, html: str) -> None:
    draft = replace(SIMPLE, text=text or "t", html=html or "h")
    raw = written(draft)
    plain, rich = (part.get_payload(decode=True) for part in read(raw).iter_parts())
    assert (plain.decode().replace("\r\n", "\n"), rich.decode().replace("\r\n", "\n")) == (
        canonical(draft.text),
        canonical(draft.html),
    )
    fast = fast_mail_parser.parse_email(raw)
    assert [text.replace("\r\n", "\n") for text in (*fast.text_plain, *fast.text_html)] == [
        canonical(draft.text),
        canonical(draft.html),
    ]


@given(filenames, st.binary(max_size=300))
@example("Übersicht der sehr langen Rechnung für 2026.pdf", b"")
@example('we"ird;na\\me=?utf-8?q?x?=.txt', b"\r\n.\r\n")
@example("%41'%42.txt", b"\0" * 100)
def test_any_attachment_is_read_back_exactly(filename: str, content: bytes) -> None:
    raw = written(replace(SIMPLE, files=(File(filename, "application/pdf", content),)))
    (part,) = read(raw).iter_attachments()
    assert (part.get_filename(), part.get_content()) == (filename, content)
    (fast,) = fast_mail_parser.parse_email(raw).attachments
    assert (fast.filename, fast.content, fast.mimetype) == (filename, content, "application/pdf")


@settings(max_examples=50)
@given(bodies, bodies, st.binary(max_size=200))
def test_every_line_ends_in_crlf_and_none_is_too_long(text: str, html: str, attached: bytes) -> None:
    files = (File("a.bin", "application/octet-stream", attached),)
    raw = written(replace(SIMPLE, text=text or "t", html=html, files=files, forwarded=b"Subject: x\r\n\r\n"))
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", raw)
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))
    assert raw.isascii()


def test_a_long_paragraph_arrives_as_one() -> None:
    paragraph = "word " * 99 + "end"
    assert content(read(written(replace(SIMPLE, text=paragraph)))) == paragraph + "\n"


def test_plain_short_text_travels_without_encoding() -> None:
    message = read(written(SIMPLE))
    assert message["content-transfer-encoding"] == "7bit"
    assert content(message) == "Good morning\n"


def test_encoded_words_are_short_and_split_no_letter() -> None:
    raw = written(replace(SIMPLE, subject="Ärger mit Öl und Übermut 🎉 " * 12))
    found = re.findall(rb"=\?utf-8\?([bq])\?([^?]*)\?=", raw)
    assert len(found) > 5
    for word in re.findall(rb"=\?[^ ]*\?=", raw):
        assert len(word) <= 75
        decoded, charset = email.header.decode_header(word.decode())[0]
        assert decoded.decode(charset)


# --- structure -----------------------------------------------------------------------------------------------------


def types(message: EmailMessage) -> list[str]:
    return [part.get_content_type() for part in message.walk()]


def test_text_html_inline_image_file_and_original_nest_as_readers_expect() -> None:
    draft = replace(
        SIMPLE,
        html='<img src="cid:logo@x">',
        files=(
            File("logo.png", "image/png", b"png", inline=True, content_id="<logo@x>"),
            File("a.pdf", "application/pdf", b"pdf"),
        ),
        forwarded=b"Subject: original\r\n\r\nold words\r\n",
    )
    message = read(written(draft))
    assert types(message) == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "application/pdf",
        "message/rfc822",
        "text/plain",
    ]
    image = next(part for part in message.walk() if part.get_content_type() == "image/png")
    assert (image["content-id"], image.get_content_disposition()) == ("<logo@x>", "inline")


def test_an_inline_image_without_html_is_an_ordinary_part() -> None:
    draft = replace(SIMPLE, files=(File("logo.png", "image/png", b"png", inline=True, content_id="logo"),))
    assert types(read(written(draft))) == ["multipart/mixed", "text/plain", "image/png"]


def test_html_alone_gets_a_plain_reading_beside_it() -> None:
    message = read(written(replace(SIMPLE, text="", html="<p>Only <b>this</b></p>")))
    plain, rich = message.iter_parts()
    assert "this" in content(plain)
    assert "<" not in content(plain)
    assert content(rich) == "<p>Only <b>this</b></p>\n"


def test_an_empty_draft_is_still_a_mail() -> None:
    message = read(written(Draft(sender=ANNA)))
    assert (message.get_content_type(), content(message), message["subject"]) == ("text/plain", "", None)


@pytest.mark.parametrize(
    ("original", "width"),
    [
        (b"Subject: x\r\n\r\nplain\r\n", "7bit"),
        (b"Subject: \xc3\xa4\r\n\r\n8-bit \xff\r\n", "8bit"),
    ],
)
def test_a_forwarded_original_is_carried_byte_for_byte(original: bytes, width: str) -> None:
    raw = written(replace(SIMPLE, forwarded=original))
    assert b"\r\n\r\n" + original + b"\r\n--" in raw
    message = read(raw)
    forwarded = list(message.walk())[2]
    assert (message["content-transfer-encoding"], forwarded["content-transfer-encoding"]) == (width, width)


@pytest.mark.parametrize("text", [b"y" * 1200, b"nul \0 and bare \r return"])
def test_an_original_that_no_server_would_carry_travels_as_a_file(text: bytes) -> None:
    original = b"Subject: x\r\n\r\n" + text
    raw = written(replace(SIMPLE, forwarded=original))
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    forwarded = list(read(raw).walk())[2]
    assert forwarded.get_content_type() == "application/octet-stream"
    assert forwarded.get_payload(decode=True) == original


def test_bare_line_feeds_of_an_original_become_line_ends_and_nothing_else_changes() -> None:
    raw = written(replace(SIMPLE, forwarded=b"Subject: x\nDKIM-Signature: a=b\n\nbody\r\n"))
    assert b"\r\n\r\nSubject: x\r\nDKIM-Signature: a=b\r\n\r\nbody\r\n\r\n--" in raw


def test_every_mail_of_the_corpus_can_be_forwarded_as_it_came() -> None:
    corpus = Path(__file__).parents[3].parent / "shared" / "corpora" / "mime"
    if not corpus.is_dir():
        pytest.skip("the corpus of real mails is not beside the project")
    originals = [path.read_bytes() for path in corpus.rglob("*.eml") if path.stat().st_size < 1_000_000]
    assert originals
    for original in originals:
        raw = written(replace(SIMPLE, forwarded=original))
        as_it_is = b"\r\n\r\n" + re.sub(rb"(?<!\r)\n", b"\r\n", original) + b"\r\n--"
        assert as_it_is in raw or list(read(raw).walk())[2].get_payload(decode=True) == original


def test_a_mail_attached_as_a_file_is_not_encoded() -> None:
    raw = written(replace(SIMPLE, files=(File("old.eml", "message/rfc822", b"Subject: x\r\n\r\nhi"),)))
    part = list(read(raw).walk())[2]
    assert (part.get_content_type(), part.get_filename()) == ("message/rfc822", "old.eml")
    assert part["content-transfer-encoding"] == "7bit"


def test_a_file_of_another_composite_type_travels_as_plain_bytes() -> None:
    raw = written(replace(SIMPLE, files=(File("x", "multipart/mixed", b"--b\r\n"),)))
    (part,) = read(raw).iter_attachments()
    assert (part.get_content_type(), part.get_content()) == ("application/octet-stream", b"--b\r\n")


def test_a_boundary_never_occurs_in_what_it_separates() -> None:
    first = written(replace(SIMPLE, forwarded=b"Subject: x\r\n\r\n"))
    boundary = re.search(rb'boundary="([^"]+)"', first)
    assert boundary is not None
    hostile = b"Subject: x\r\n\r\n--" + boundary[1] + b"--\r\n"
    message = read(written(replace(SIMPLE, forwarded=hostile)))
    assert types(message) == ["multipart/mixed", "text/plain", "message/rfc822", "text/plain"]


def test_a_foreign_filename_has_a_plain_fallback_for_old_readers() -> None:
    raw = written(replace(SIMPLE, files=(File("Überblick.pdf", "application/pdf", b"x"),)))
    assert b'name="Uberblick.pdf"' in raw
    assert b"filename*=utf-8''%C3%9Cberblick.pdf" in raw


# --- headers -------------------------------------------------------------------------------------------------------


def test_the_same_draft_gives_the_same_bytes() -> None:
    draft = replace(SIMPLE, html="<p>x</p>", files=(File("a", "a/b", b"c"),))
    assert written(draft) == written(draft)


def test_without_id_and_date_each_mail_gets_its_own() -> None:
    one, two = read(compose(SIMPLE)), read(compose(SIMPLE))
    assert one["message-id"] != two["message-id"]
    assert one["message-id"].endswith("@example.com>")
    assert one["date"].datetime.tzinfo is not None


def test_a_message_id_of_a_foreign_domain_is_plain_ascii() -> None:
    assert new_message_id("bücher.example").endswith("@xn--bcher-kva.example>")
    assert new_message_id("").endswith("@localhost>")


def test_bcc_is_written_only_into_saved_drafts() -> None:
    draft = replace(SIMPLE, bcc=(Address("secret@example.net"),))
    assert b"secret" not in written(draft)
    assert read(written(draft, keep_bcc=True))["bcc"] == "secret@example.net"


def test_importance_is_said_only_when_it_is_not_normal() -> None:
    assert "importance" not in read(written(SIMPLE))
    high = read(written(replace(SIMPLE, importance=Importance.HIGH)))
    assert (high["importance"], high["x-priority"][0]) == ("high", "1")
    assert read(written(replace(SIMPLE, importance=Importance.LOW)))["x-priority"][0] == "5"


def test_a_reply_names_its_thread_and_long_threads_keep_first_and_last() -> None:
    references = tuple(f"<{number}@example.com>" for number in range(50))
    threading = Threading("<49@example.com>", references)
    message = read(written(replace(SIMPLE, threading=threading)))
    kept = message["references"].split()
    assert message["in-reply-to"] == "<49@example.com>"
    assert (len(kept), kept[0], kept[-1]) == (20, "<0@example.com>", "<49@example.com>")


def test_reply_to_is_written() -> None:
    assert read(written(replace(SIMPLE, reply_to=(BOB,))))["reply-to"] == "Bob <bob@example.org>"


def test_letters_beyond_ascii_in_addresses_stay_as_they_are() -> None:
    raw = written(replace(SIMPLE, to=(Address("jürgen@bücher.example", "Jürgen"),)))
    assert "=?utf-8?q?J=C3=BCrgen?= <jürgen@bücher.example>".encode() in raw


# --- nothing gets in -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", LINE_BREAKS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda value: {"subject": value},
        lambda value: {"sender": Address("anna@example.com", value)},
        lambda value: {"to": (Address(f"bob@example.com{value}"),)},
        lambda value: {"cc": (Address("bob@example.com", value),)},
        lambda value: {"reply_to": (Address(value),)},
        lambda value: {"files": (File(value, "application/pdf", b""),)},
        lambda value: {"files": (File("a", f"text/plain{value}", b""),)},
        lambda value: {"files": (File("a", "text/plain", b"", content_id=f"a{value}b"),)},
        lambda value: {"threading": Threading(in_reply_to=f"<a{value}b@c>")},
        lambda value: {"threading": Threading(references=("<a@b>", f"<a{value}b@c>"))},
    ],
)
def test_a_line_break_in_any_header_value_is_refused(spoil, char: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidRequest):
        written(replace(SIMPLE, **spoil(f"x{char}Bcc: evil@example.net")))


def test_a_line_break_in_the_message_id_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        compose(SIMPLE, message_id="<a@b>\r\nBcc: <evil@example.net>", date=DATE)


def test_half_a_character_in_the_body_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="half a character"):
        written(replace(SIMPLE, text="a\ud800b"))


@pytest.mark.parametrize("address", ["bob", "bob@localhost", "a b@example.com", "a@b.com, c@d.com", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidRequest):
        written(replace(SIMPLE, to=(Address(address),)))


def test_a_filename_beyond_every_file_system_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="shorter"):
        written(replace(SIMPLE, files=(File("ä" * 128, "a/b", b""),)))


def test_an_encoded_line_feed_in_a_received_subject_cannot_become_a_header() -> None:
    """Python 3.11 itself, reading such a mail and writing it again, makes a real Bcc line of it."""
    [(decoded, charset)] = email.header.decode_header("=?utf-8?q?Hello=0ABcc:_evil@example.net?=")
    subject = decoded.decode(charset) + " word" * 20
    assert "\nBcc: evil@example.net" in subject
    with pytest.raises(InvalidRequest):
        written(replace(SIMPLE, subject=subject))
    raw = written(replace(SIMPLE, subject=reply_subject(subject)))
    assert not any(line.lower().startswith(b"bcc") for line in header_lines(raw))
    assert read(raw)["bcc"] is None


@given(st.text(max_size=80), st.text(max_size=40), st.text(max_size=40))
def test_whatever_is_asked_for_no_foreign_header_appears(subject: str, name: str, filename: str) -> None:
    draft = replace(
        SIMPLE, subject=subject, to=(Address("bob@example.org", name),), files=(File(filename, "a/b", b"x"),)
    )
    try:
        raw = written(draft)
    except InvalidRequest:
        return
    known = {"date", "from", "to", "subject", "message-id", "mime-version", "content-type", "content-transfer-encoding"}
    assert {key.lower() for key in read(raw)} <= known
    assert [a.address for a in fast_mail_parser.parse_email(raw).to] == ["bob@example.org"]
