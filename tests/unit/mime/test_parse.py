"""Whole mails, as programs and people really write them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest

from postroom.mime.read.parse import extract_part, parse, parse_headers
from postroom.model.address import Address
from postroom.model.errors import NotFound


def mail(headers: str, body: str = "Hello\r\n", *, encoding: str = "utf-8") -> bytes:
    return (headers.strip("\n").replace("\n", "\r\n") + "\r\n\r\n" + body).encode(encoding)


def multipart(kind: str, *parts: str, boundary: str = "bound") -> bytes:
    body = "".join(f"--{boundary}\r\n{part.strip(chr(10)).replace(chr(10), chr(13) + chr(10))}\r\n" for part in parts)
    return mail(
        f'From: a@example.com\nContent-Type: multipart/{kind}; boundary="{boundary}"', f"{body}--{boundary}--\r\n"
    )


TEXT = "Content-Type: text/plain; charset=utf-8\n\nplain words"
HTML = "Content-Type: text/html; charset=utf-8\n\n<p>rich words</p>"


def test_an_ordinary_mail_is_read_in_all_its_fields() -> None:
    parsed = parse(
        mail(
            """
From: =?utf-8?q?J=C3=B6rg?= <joerg@example.com>
To: Alice <alice@example.com>, bob@example.com
Cc: "Carol, C." <carol@example.com>
Reply-To: list@example.com
Subject: =?utf-8?b?R3LDvMOfZQ==?= from here
Date: Mon, 01 Jan 2024 10:00:00 +0100
Message-ID: <1@example.com>
In-Reply-To: <0@example.com>
References: <00@example.com>
 <0@example.com>
"""
        )
    )
    assert parsed.sender == Address("joerg@example.com", "Jörg")
    assert parsed.to == (Address("alice@example.com", "Alice"), Address("bob@example.com"))
    assert parsed.cc == (Address("carol@example.com", "Carol, C."),)
    assert parsed.reply_to == (Address("list@example.com"),)
    assert parsed.subject == "Grüße from here"
    assert parsed.date == datetime(2024, 1, 1, 10, tzinfo=timezone(timedelta(hours=1)))
    assert (parsed.message_id, parsed.in_reply_to) == ("<1@example.com>", "<0@example.com>")
    assert parsed.references == ("<00@example.com>", "<0@example.com>")
    assert parsed.body.text == "Hello\n"
    assert parsed.headers["references"] == ("<00@example.com> <0@example.com>",)
    assert parsed.defects == ()


def test_a_letter_split_between_two_encoded_words_is_whole_again() -> None:
    half, rest = "日本".encode()[:4], "日本".encode()[4:]
    words = " ".join(f"=?utf-8?b?{base64.b64encode(piece).decode()}?=" for piece in (half, rest))
    assert parse(mail(f"Subject: {words}")).subject == "日本"


def test_blanks_between_encoded_words_go_and_blanks_beside_plain_words_stay() -> None:
    assert parse(mail("Subject: a =?utf-8?q?b?= =?utf-8?q?c?= d")).subject == "a bc d"


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        ("=?iso-8859-1?q?caf=E9?=", "café"),
        ("=?windows-1252?q?=93hi=94?=", "“hi”"),
        ("=?gb2312?b?xOO6ww==?=", "你好"),
        ("=?iso-2022-jp?b?GyRCRnxLXBsoQg==?=", "日本"),
        ("=?x-unknown?q?caf=C3=A9?=", "café"),
        ("=?utf-8*en?q?hello?=", "hello"),
        ("=?utf-8?q?What?_really?=", "What? really"),
        ("=?utf-8?b?broken!!!", "=?utf-8?b?broken!!!"),
        ("=?utf-8?b?4pyT", "✓"),
    ],
)
def test_encoded_words_are_decoded_by_their_charset(header: str, subject: str) -> None:
    assert parse(mail(f"Subject: {header}")).subject == subject


def test_an_encoded_line_break_does_not_break_a_header() -> None:
    subject = parse(mail("Subject: =?utf-8?q?a=0D=0ABcc:_x@example.com?=")).subject
    assert "\r" not in subject
    assert "\n" not in subject


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
def test_raw_8_bit_headers_are_read_by_the_charset_of_the_text(charset: str) -> None:
    raw = mail(f"Subject: Grüße\nContent-Type: text/plain; charset={charset}", "ok", encoding=charset)
    assert parse(raw).subject == "Grüße"


def test_raw_japanese_headers_are_read_as_their_bytes_say() -> None:
    name = "会議の件".encode("iso2022_jp").decode()
    raw = mail(f'Subject: {name}\nFrom: "{name}" <a@b.example>\nContent-Type: application/pdf; name="{name}.pdf"', "x")
    parsed = parse(raw)
    assert (parsed.subject, parsed.sender.name) == ("会議の件", "会議の件")
    assert parsed.attachments[0].filename == "会議の件.pdf"


def test_a_raw_cyrillic_header_is_read_by_the_charset_of_the_text() -> None:
    raw = mail("Subject: Привет\nContent-Type: text/plain; charset=koi8-r", "Мир", encoding="koi8-r")
    parsed = parse(raw)
    assert (parsed.subject, parsed.body.text) == ("Привет", "Мир")


@pytest.mark.parametrize(
    ("header", "addresses"),
    [
        ("Friends: a@example.com, B <b@example.com>;", (Address("a@example.com"), Address("b@example.com", "B"))),
        ("undisclosed-recipients:;", ()),
        ("joe@example.com (Joe Doe)", (Address("joe@example.com", "Joe Doe"),)),
        ('"Doe \\"J\\" Joe" <joe@example.com>', (Address("joe@example.com", 'Doe "J" Joe'),)),
        ('"Unclosed <joe@example.com>', (Address("joe@example.com", "Unclosed"),)),
        ("Joe <joe@example.com", (Address("joe@example.com", "Joe"),)),
        ("Pete(the great) <pete(his account)@example.com>", (Address("pete@example.com", "Pete"),)),
        ("<@relay.example:joe@example.com>", (Address("joe@example.com"),)),
        ("=?utf-8?q?a=2C_b?= <joe@example.com>", (Address("joe@example.com", "a, b"),)),
        ("MAILER-DAEMON", (Address("MAILER-DAEMON"),)),
        ("alice@example.org]<bob@example.com>", (Address("bob@example.com", "alice@example.org]"),)),
        (",, ;", ()),
    ],
)
def test_addresses_are_read_leniently(header: str, addresses: tuple[Address, ...]) -> None:
    assert parse(mail(f"To: {header}")).to == addresses


def test_encoded_punctuation_in_a_name_never_makes_another_recipient() -> None:
    parsed = parse(mail("To: =?utf-8?q?x=3Cevil=40example.org=3E=2C?= <alice@example.com>"))
    assert [address.email for address in parsed.to] == ["alice@example.com"]


@pytest.mark.parametrize(
    ("header", "moment"),
    [
        ("Mon, 1 Jan 2024 10:00:00 GMT", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ("1 Jan 24 10:00 EST", datetime(2024, 1, 1, 15, tzinfo=UTC)),
        ("Mon, 01 Jan 2024 10:00:00 -0000", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ("Mon, 01 Jan 2024 10:00:00 +0530 (IST)", datetime(2024, 1, 1, 4, 30, tzinfo=UTC)),
        ("Mon, 01 Jan 2024 10:00:60 +0000", datetime(2024, 1, 1, 10, 0, 59, tzinfo=UTC)),
        ("Mon, 01 Jan 2024 10:00:00 +9999", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ("Mon, 01 Jan 2024 10:00:00", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ("2024-01-01T10:00:00Z", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ("2024-01-01 10:00:00 +0100", datetime(2024, 1, 1, 9, tzinfo=UTC)),
    ],
)
def test_dates_are_aware_whatever_their_zone(header: str, moment: datetime) -> None:
    date = parse(mail(f"Date: {header}")).date
    assert date == moment
    assert date.tzinfo is not None


@pytest.mark.parametrize("header", ["", "yesterday", "99 Foo 2024 10:00:00 +0000", "Mon, 31 Feb 2024 10:00:00 +0000"])
def test_a_hopeless_date_is_none(header: str) -> None:
    assert parse(mail(f"Date: {header}")).date is None


def test_an_alternative_gives_both_readings() -> None:
    parsed = parse(multipart("alternative", TEXT, HTML))
    assert (parsed.body.text, parsed.body.html) == ("plain words", "<p>rich words</p>")
    assert parsed.attachments == ()


def test_texts_of_a_mixed_mail_are_joined_in_order() -> None:
    footer = TEXT.replace("plain words", "list footer")
    assert parse(multipart("mixed", TEXT, footer)).body.text == "plain words\nlist footer"


def test_a_footer_beside_an_alternative_stands_in_both_readings() -> None:
    inner = multipart("alternative", TEXT, HTML, boundary="inner").decode().partition("Content-Type")[2]
    footer = TEXT.replace("plain words", "a < b")
    body = parse(multipart("mixed", f"Content-Type{inner}".replace("\r\n", "\n"), footer)).body
    assert body.text == "plain words\na < b"
    assert "<p>rich words</p>" in body.html
    assert "a &lt; b" in body.html


def test_where_only_html_tells_everything_it_stands_alone() -> None:
    body = parse(multipart("mixed", TEXT, HTML)).body
    assert body.text == ""
    assert "plain words" in body.html
    assert "rich words" in body.html


def test_attachments_are_listed_by_their_imap_numbers() -> None:
    related = (
        'Content-Type: multipart/related; boundary="rel"\n\n'
        f"--rel\n{HTML}\n--rel\nContent-Type: image/png\nContent-ID: <logo@x>\nContent-Transfer-Encoding: base64\n\n"
        "iVBORw0KGgo=\n--rel--"
    )
    pdf = (
        "Content-Type: application/pdf\nContent-Disposition: attachment; filename=plan.pdf\n"
        f"Content-Transfer-Encoding: base64\n\n{base64.b64encode(b'%PDF' * 50).decode()}"
    )
    parsed = parse(multipart("mixed", related, pdf))
    image, document = parsed.attachments
    assert (image.part, image.inline, image.content_id, image.mime_type) == ("1.2", True, "logo@x", "image/png")
    assert (document.part, document.filename, document.size, document.inline) == ("2", "plan.pdf", 200, False)


@pytest.mark.parametrize(
    ("fields", "inline"),
    [
        ("image/png\nContent-Disposition: inline; filename=a.png", True),
        ("image/png\nContent-ID: <a@x>", True),
        ("image/png\nContent-ID: <a@x>\nContent-Disposition: attachment", False),
        ("application/pdf\nContent-Disposition: inline; filename=a.pdf", False),
        ("image/png; name=a.png", False),
    ],
)
def test_only_what_is_shown_within_the_text_is_inline(fields: str, inline: bool) -> None:
    assert parse(multipart("mixed", TEXT, f"Content-Type: {fields}\n\nx")).attachments[0].inline is inline


def test_an_attached_mail_is_one_attachment_named_by_its_subject() -> None:
    inner = "Content-Type: message/rfc822\n\nSubject: =?utf-8?q?Caf=C3=A9?= / plan\n\ninner text"
    raw = multipart("mixed", TEXT, inner)
    (attachment,) = parse(raw).attachments
    assert (attachment.part, attachment.filename, attachment.mime_type) == ("2", "Café _ plan.eml", "message/rfc822")
    assert extract_part(raw, "2").endswith(b"inner text")
    assert "inner text" not in parse(raw).body.text


def test_a_calendar_and_a_winmail_are_listed() -> None:
    calendar = "Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR"
    tnef = "Content-Type: application/ms-tnef; name=winmail.dat\n\nx"
    names = [part.filename for part in parse(multipart("mixed", TEXT, calendar, tnef)).attachments]
    assert names == ["attachment-2.ics", "winmail.dat"]


def test_a_mail_that_is_a_file_has_part_one() -> None:
    raw = mail("Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64", "JVBERg==")
    (attachment,) = parse(raw).attachments
    assert (attachment.part, attachment.size) == ("1", 4)
    assert extract_part(raw, "1") == b"%PDF"


def test_a_part_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound, match="list_attachments"):
        extract_part(mail("Subject: x"), "7")


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ("attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf", "résumé.pdf"),
        ('attachment; filename*0="long "; filename*1="name.pdf"', "long name.pdf"),
        ("attachment; filename*0*=utf-8'en'%E2%82%AC; filename*1*=%20rates.pdf", "€ rates.pdf"),
        ('attachment; filename="=?utf-8?q?caf=C3=A9.pdf?="', "café.pdf"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="C:\\\\temp\\\\a.txt"', "a.txt"),
        ('attachment; filename="..."', "attachment-2.pdf"),
        ('attachment; filename=".bashrc"', "bashrc"),
        ('attachment; filename="con.txt"', "_con.txt"),
        ('attachment; filename="inv\u202eoicefdp.exe"', "invoicefdp.exe"),
        ('attachment; filename="a\tb:c.pdf"', "a b_c.pdf"),
        ("attachment", "attachment-2.pdf"),
    ],
)
def test_file_names_are_decoded_and_safe(disposition: str, name: str) -> None:
    part = f"Content-Type: application/pdf\nContent-Disposition: {disposition}\n\nx"
    assert parse(multipart("mixed", TEXT, part)).attachments[0].filename == name


def test_a_very_long_file_name_keeps_its_extension() -> None:
    part = f'Content-Type: application/pdf; name="{"n" * 900}.pdf"\n\nx'
    name = parse(multipart("mixed", TEXT, part)).attachments[0].filename
    assert name.endswith(".pdf")
    assert len(name) <= 180


INLINE = "Content-Disposition: inline; filename={0}\n\n"


def test_a_letter_that_is_named_and_called_inline_is_the_letter() -> None:
    plain, rich = (
        f"Content-Type: text/{kind}; name=a\n{INLINE.format('a')}the {kind} words" for kind in ("plain", "html")
    )
    picture = f"Content-Type: image/png\n{INLINE.format('a.png')}x"
    alone = parse(mail(plain.partition("\n\n")[0], "the plain words"))
    assert (alone.body.text, alone.attachments) == ("the plain words", ())
    both = parse(multipart("alternative", plain, rich))
    assert (both.body.text, both.body.html, both.attachments) == ("the plain words", "the html words", ())
    assert parse(multipart("mixed", rich, picture)).body.html == "the html words"


@pytest.mark.parametrize("before", [TEXT, HTML, "Content-Type: application/pdf; name=a.pdf\n\nx"])
def test_a_named_text_after_anything_else_is_a_file(before: str) -> None:
    notes = f"Content-Type: text/plain\n{INLINE.format('notes.txt')}notes"
    parsed = parse(multipart("mixed", before, notes))
    assert "notes" not in parsed.body.text + parsed.body.html
    assert parsed.attachments[-1].filename == "notes.txt"


def test_a_named_text_is_a_file_but_a_named_letter_is_the_letter() -> None:
    notes = 'Content-Type: text/plain; name="notes.txt"\n\nnotes'
    parsed = parse(multipart("mixed", 'Content-Type: text/plain; name="body.txt"\n\nletter', notes))
    assert parsed.body.text == "letter"
    assert [attachment.filename for attachment in parsed.attachments] == ["notes.txt"]


def test_flowed_text_is_unfolded() -> None:
    text = "A paragraph that \r\ngoes on.\r\n> quoted \r\n> too\r\n-- \r\nSig \r\n natured\r\n"
    body = parse(mail("Content-Type: text/plain; format=flowed", text)).body.text
    assert body == "A paragraph that goes on.\n> quoted too\n-- \nSig natured\n"


def test_flowed_text_with_delsp_joins_without_a_space() -> None:
    assert parse(mail("Content-Type: text/plain; format=flowed; delsp=yes", "日 \r\n本")).body.text == "日本"


def test_a_multipart_without_an_end_keeps_its_last_part() -> None:
    raw = multipart("mixed", TEXT).replace(b"--bound--", b"")
    parsed = parse(raw)
    assert parsed.body.text.strip() == "plain words"
    assert any("not closed" in defect for defect in parsed.defects)


def test_a_multipart_without_parts_is_read_as_text() -> None:
    parsed = parse(mail("Content-Type: multipart/mixed", "just words"))
    assert parsed.body.text == "just words"
    assert parsed.defects


def test_a_boundary_that_is_the_beginning_of_another_is_not_mistaken_for_it() -> None:
    inner = multipart("alternative", TEXT, HTML, boundary="boundary-inner").decode().partition("Content-Type")[2]
    raw = multipart("mixed", f"Content-Type{inner}".replace("\r\n", "\n"), boundary="boundary")
    assert parse(raw).body.text == "plain words"


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: x\n\nbody\n",
        b"Subject: x\r\n\r\nbody\r\n",
        b"Subject: x\r\rbody\r",
        b"\r\n\r\nSubject: x\r\n\r\nbody",
    ],
)
def test_every_kind_of_line_end_is_read(raw: bytes) -> None:
    parsed = parse(raw)
    assert (parsed.subject, parsed.body.text.strip()) == ("x", "body")


def test_an_mbox_separator_is_no_header() -> None:
    parsed = parse(b"From a@example.com Mon Jan  1 10:00:00 2024\nSubject: x\n\nbody")
    assert (parsed.subject, parsed.body.text) == ("x", "body")


def test_text_that_begins_without_a_blank_line_is_not_lost() -> None:
    parsed = parse(b"Subject: x\r\nThis is the text.\r\nMore of it\r\n\r\nThe end")
    assert "This is the text." in parsed.body.text
    assert parsed.defects


def test_a_single_odd_line_among_headers_is_skipped() -> None:
    parsed = parse(b"Subject: x\r\nodd line\r\nTo: a@example.com\r\n\r\nbody")
    assert (parsed.to, parsed.body.text) == ((Address("a@example.com"),), "body")


def test_bytes_that_are_no_mail_are_a_body() -> None:
    assert parse("just some wörds".encode()).body.text == "just some wörds"
    assert parse(b"").body.text == ""


def test_header_blocks_are_read_without_a_body() -> None:
    parsed = parse_headers(b"Subject: =?utf-8?q?x?=\r\nFrom: a@example.com\r\n\r\n")
    assert (parsed.subject, parsed.sender.email, parsed.body.text) == ("x", "a@example.com", "")


def test_a_header_given_twice_keeps_both_values_in_order() -> None:
    assert parse(mail("Received: one\nReceived: two")).headers["received"] == ("one", "two")


@pytest.mark.parametrize("given", ["charset=utf-8 boundary=x", 'charset="utf-8" boundary="x"'])
def test_parts_are_found_by_a_boundary_without_a_semicolon_before_it(given: str) -> None:
    parsed = parse(mail(f"Content-Type: multipart/mixed; {given}", "--x\r\n\r\nHello\r\n--x--\r\n"))
    assert parsed.body.text.strip() == "Hello"


def test_an_encoding_may_have_a_comment() -> None:
    raw = mail("Content-Type: text/plain\nContent-Transfer-Encoding: base64 (as usual)", "SGVsbG8=")
    assert parse(raw).body.text == "Hello"


def test_html_that_claims_to_be_ascii_is_read_by_its_own_charset() -> None:
    html = '<meta charset="shift_jis"><p>こんにちは</p>'
    assert "こんにちは" in parse(mail("Content-Type: text/html; charset=us-ascii", html, encoding="cp932")).body.html


@pytest.mark.parametrize("text", ["Dear Ann,\n\nsee you at noon.\n", "Hello\nsee you at noon, Bob", "Привет, Анна"])
def test_plain_text_labelled_base64_is_shown_and_told(text: str) -> None:
    parsed = parse(mail("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64", text))
    assert parsed.body.text.strip() == text.strip()
    assert any("claims to be encoded in base64" in defect for defect in parsed.defects)


@pytest.mark.parametrize("footer", ["", "\n____________\nThe list: to leave it, write to leave@list.example\n" * 5])
@pytest.mark.parametrize("text", ["Hello there!", "See you at noon, and bring the papers. " * 20, "Привет, Анна"])
def test_encoded_text_is_decoded_whatever_follows_it(text: str, footer: str) -> None:
    encoded = base64.encodebytes(text.encode()).decode() + footer
    parsed = parse(mail("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64", encoded))
    assert parsed.body.text.startswith(text)
    assert not any("claims to be encoded" in defect for defect in parsed.defects)


@pytest.mark.parametrize(
    "text", ["Hallo Welt, dies ist der Text", "Hallo Welt, dies ist der Text!", "Hallo Welt, dies der Text.."]
)
def test_a_footer_below_an_encoded_text_is_no_part_of_it(text: str) -> None:
    footer = f"\n{'-' * 69}\nTo unsubscribe, e-mail: dev-unsubscribe@lists.example\n"
    fields = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64"
    parsed = parse(mail(fields, base64.encodebytes(text.encode()).decode() + footer))
    assert parsed.body.text == text
    assert "Data follows the end" in parsed.defects[0]


def test_a_blank_line_within_an_encoded_text_ends_nothing() -> None:
    fields = "Content-Type: text/plain\nContent-Transfer-Encoding: base64"
    halves = [base64.b64encode(half).decode() for half in (b"one, and another; ", b"two and a third")]
    assert parse(mail(fields, "\n" + "\n\n".join(halves))).body.text == "one, and another; two and a third"
