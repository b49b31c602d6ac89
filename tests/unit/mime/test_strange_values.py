"""No value of a stranger's raises, and what was left out or mended is said."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.mime.test_parse_fuzz import read_everything

from postroom.index.entry import texts_of
from postroom.index.words import normal
from postroom.mime.limits import MAX_ADDRESSES, MAX_PARAMETERS, MAX_TEXT, MAX_VALUE
from postroom.mime.read.decode import decode_text
from postroom.mime.read.parse import parse
from postroom.mime.render import render
from postroom.mime.sender_facts import judge
from postroom.model.message import Body

NUMBERS = ["9" * 400, "9" * 5_000, "-" + "9" * 5_000, "0." + "0" * 5_000, "1e999", "٣" * 30, "9" * 400 + ".5"]
PLACES = [
    '<p style="color:rgb({0},0,0)">x',
    '<p style="color:hsl({0},{0}%,{0}%)">x',
    '<p style="background-color:rgba(0,0,0,{0})">x',
    '<p style="font-size:{0}px">x<p style="font-size:{0}em">y',
    '<p style="opacity:{0}">x',
    '<p style="text-indent:-{0}em;margin:{0}%;width:{0}px;height:{0};overflow:hidden">x',
    '<p style="transform:scale({0}) translate({0}px);clip:rect({0},{0},{0},{0});clip-path:inset({0}%)">x',
    "<style>@media (max-width:{0}px){{p{{color:red}}}}</style><p>x",
    "<style>@media (aspect-ratio:{0}/{0}) or (min-aspect-ratio:{0}/1){{p{{color:red}}}}</style><p>x",
    '<p style="filter:blur({0}px) opacity({0});zoom:{0};letter-spacing:{0}em">x',
    '<p style="filter:blur(1.{0}.) opacity(...);width:calc({0}px * {0} / 0 - {0}em);overflow:hidden">x',
    '<p style="color:lab({0} 0 0 / {0});background:linear-gradient(oklch({0} 0 {0}), hwb({0} {0}% {0}%))">x',
    '<p style="transform:matrix({0},{0},{0},{0},{0},{0}) rotatex({0}deg);clip-path:polygon({0} {0},0 {0},{0} 0)">x',
    '<div style="font-size:{0}em"><p style="font-size:{0}em;text-indent:{0}em;--a:{0};color:var(--a)">x',
    "<style>p:nth-child({0}){{color:red}}</style><p>x",
    '<img src=a width={0} height={0} alt="a picture">x',
    "<table><tr><td colspan={0} rowspan={0}>x<td>y<tr><td>z<td>u</table>",
    "<ol start={0}><li value={0}>x</ol>",
    "<font size={0} color=#{0}>x</font>",
    "&#{0}; &#x{0}; x",
    '<a href="http://a.example:{0}/">x</a>',
]
HEADERS = [
    "Date: Mon, {0} Jan 2024 10:00:00 +0100",
    "Date: Mon, 1 Jan {0} 10:00:00 +0100",
    "Date: Mon, 1 Jan 2024 {0}:{0}:{0} +{0}",
    "Date: 2024-01-01T10:00:00.{0}+01:00",
    "Content-Type: text/plain; charset*{0}*=utf-8''a; name*{0}=b",
    "Content-Type: text/plain; charset=utf-{0}",
    "Content-Length: {0}",
    "Subject: =?utf-8?q?={0}?=",
    "X-Priority: {0}",
    "Authentication-Results: a; spf/{0}=pass",
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:6])
@pytest.mark.parametrize("place", PLACES)
def test_numbers_of_any_length_stand_anywhere_in_html(place: str, number: str) -> None:
    body = Body(html=place.format(number))
    for fmt in ("markdown", "text", "html"):
        assert render(body, fmt=fmt, keep_quoted=False) is not None


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:6])
@pytest.mark.parametrize("header", HEADERS)
def test_numbers_of_any_length_stand_anywhere_in_headers(header: str, number: str) -> None:
    parsed = parse(f"{header.format(number)}\r\n\r\nbody".encode())
    judge(parsed.headers, parsed.sender, parsed.reply_to, ())
    assert parsed.body.text == "body"


@pytest.mark.parametrize("date", ["1 Jan 0001 00:00:00 +2359", "31 Dec 9999 23:59:59 -2359", "1 Jan 99999 0:0:0 +0000"])
def test_a_date_that_no_other_zone_could_name_is_none(date: str) -> None:
    assert parse(f"Date: {date}\r\n\r\n".encode()).date is None


@pytest.mark.parametrize(
    "charset",
    ["\0", "idna", "punycode", "hex", "rot13", "unicode_escape", "utf-8\0", "a" * 9_000, "zlib", "mbcs", "oem"],
)
def test_a_charset_may_be_called_anything(charset: str) -> None:
    raw = f'Subject: =?{charset}?q?hi?=\r\nContent-Type: text/plain; charset="{charset}"\r\n\r\nhello'.encode()
    assert parse(raw).body.text == "hello"
    read_everything(raw)


def test_continuations_come_in_any_order_and_by_the_thousand() -> None:
    pieces = ";".join(f"name*{number}=x{number}." for number in reversed(range(400)))
    parsed = parse(f"Content-Type: image/png; {pieces}\r\n\r\n".encode())
    assert parsed.attachments[0].filename.startswith("x0.x1.x2.")
    many = ";".join(f"name*{number}=x" for number in range(5_000))
    assert parse(f"Content-Type: image/png; {many}\r\n\r\n".encode()).attachments


# --- what was left out is said


@pytest.mark.parametrize(
    "raw",
    [
        b"To: " + b"a@example.com," * (MAX_ADDRESSES + 1) + b"\r\n\r\n",
        b"Subject: " + b"a" * (MAX_VALUE + 1) + b"\r\n\r\n",
        b"Content-Type: text/plain; a=" + b"b" * MAX_PARAMETERS + b"\r\n\r\n",
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
        + (b"--b\r\n\r\n" + b"a" * (MAX_TEXT // 2) + b"\r\n") * 3
        + b"--b--",
        b"Content-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\nUnsubscribe here\r\n",
    ],
)
def test_what_is_left_out_of_a_mail_is_said(raw: bytes) -> None:
    assert any("omitted" in defect for defect in parse(raw).defects)


def test_as_many_addresses_as_are_allowed_are_not_too_many() -> None:
    parsed = parse(b"To: " + b",".join([b"a@example.com"] * MAX_ADDRESSES) + b"\r\n\r\n")
    assert len(parsed.to) == MAX_ADDRESSES
    assert not parsed.defects


@pytest.mark.parametrize(
    "html",
    [
        "<p>top</p>" + "<div>" * 2_000 + "deep",
        "<p>top</p>" + "<p>a</p>" * 70_000,
        "<p>top</p>" + "".join(f"<b id={number}><p>" for number in range(5_000)),
        "<p>top</p><p>" + "".join(f"<b id={number}>" for number in range(350)) + "x" + "<p>x" * 350,
        "<p>top</p>" + "<p>" + "a" * MAX_TEXT,
    ],
    ids=["deep", "many", "multiplied", "few multiplied", "long"],
)
def test_what_is_left_out_of_html_is_said(html: str) -> None:
    rendered = render(Body(html=html), fmt="markdown", keep_quoted=False)
    assert rendered.text.startswith("top")
    assert any("omitted" in defect for defect in rendered.defects)


def test_text_that_lies_too_deep_is_not_shown_without_what_hides_it() -> None:
    html = "<p>top</p>" + "<div>" * 1_000 + '<p style="display:none">secret'
    assert "secret" not in render(Body(html=html), fmt="markdown", keep_quoted=False).text


def test_formatting_left_open_does_not_multiply_a_long_newsletter() -> None:
    html = "".join(
        f'<p>Item {number}: <b>bold</b> <a href="https://x.example/{number}">more</a></p>' for number in range(900)
    )
    rendered = render(Body(html=html), fmt="text", keep_quoted=False)
    assert "Item 899" in rendered.text
    assert not rendered.defects


# --- characters and structure


@pytest.mark.parametrize("label", ["utf-8", "", "iso-8859-1"])
def test_one_stray_byte_does_not_turn_utf8_into_mojibake(label: str) -> None:
    assert decode_text("Zürich, Köln \x00".encode().replace(b"\0", b"\xe9"), label) == "Zürich, Köln \ufffd"


def test_latin_text_under_the_label_of_utf8_is_latin() -> None:
    assert decode_text("Zürich, Köln, Genève".encode("latin-1"), "utf-8") == "Zürich, Köln, Genève"


@pytest.mark.parametrize(
    "meta", ['<meta charset="koi8-r">', '<meta http-equiv=Content-Type content="text/html; charset=koi8-r">']
)
def test_html_may_name_its_charset_itself(meta: str) -> None:
    html = f"<html><head>{meta}</head><p>привет</p>"
    assert "привет" in parse(b"Content-Type: text/html\r\n\r\n" + html.encode("koi8-r")).body.html
    labelled = b"Content-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
    assert "привет" in parse(labelled).body.html


def test_a_charset_in_which_its_own_name_could_not_be_read_is_not_believed() -> None:
    assert "hello" in parse(b"Content-Type: text/html\r\n\r\n<meta charset=utf-16><p>hello").body.html


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe_aus_K=C3=B6ln?= =?utf-8?q?_und_Z=C3=BCri", "Grüße aus Köln und Züri"),
        ("Hello =?utf-8?q?Z=C3=BCri=C3", "Hello Züri"),
        ("Hello =?utf-8?q?Z=C3=BCri=C", "Hello Züri"),
        ("Hello =?utf-8?b?WsO8cmlj", "Hello Züric"),
        ("Hello =?utf-8?b?WsO", "Hello Z"),
        ("Is 2 =? 3", "Is 2 =? 3"),
    ],
)
def test_a_subject_cut_within_an_encoded_word_keeps_what_is_legible(subject: str, text: str) -> None:
    assert parse(f"Subject: {subject}\r\n\r\n".encode()).subject == text


@pytest.mark.parametrize(
    ("to", "email", "name"),
    [
        ('"john doe"@example.com', '"john doe"@example.com', ""),
        ('John <"john doe"@example.com>', '"john doe"@example.com', "John"),
        ('"a@b"@example.com', '"a@b"@example.com', ""),
        ('"John" <john@example.com>', "john@example.com", "John"),
        ('"John" john@example.com', "john@example.com", "John"),
    ],
)
def test_a_quoted_local_part_belongs_to_its_address(to: str, email: str, name: str) -> None:
    (found,) = parse(f"To: {to}\r\n\r\n".encode()).to
    assert (found.email, found.name) == (email, name)


@pytest.mark.parametrize("kind", ["multipart/mixed boundary=b", "multipart/mixed\tboundary=b; charset=x"])
def test_a_boundary_without_its_semicolon_still_separates(kind: str) -> None:
    assert parse(f"Content-Type: {kind}\r\n\r\n--b\r\n\r\nhello\r\n--b--".encode()).body.text == "hello"


def test_accents_by_the_thousand_are_indexed_as_few() -> None:
    assert len(normal("a" + "\u0301\u0323" * 100_000)) < 100
    assert normal("a" + "\u0301" * 20 + "b c") == "ab c"
    assert len(normal("\ufdfa" * 200_000)) <= 256 * 1024


# --- everything at once

numbers = st.sampled_from(NUMBERS)
pieces = st.one_of(
    st.sampled_from([place for place in PLACES if "{{" not in place]).flatmap(
        lambda place: numbers.map(lambda number: place.format(number))
    ),
    st.text(st.characters(), max_size=30),
    st.sampled_from(
        ["<div>" * 500, "<b>" * 300, "<table>" * 50, "\u0301" * 200, "\ud800", "\x1b[", "> a\n" * 50, "&#0;"]
    ),
)
fields = st.one_of(
    st.sampled_from(HEADERS).flatmap(lambda header: numbers.map(lambda number: header.format(number))),
    st.builds(
        "{}: {}".format,
        st.sampled_from(["To", "From", "Subject", "Content-Type", "Content-Disposition", "Date", "References", "X"]),
        st.text(st.characters(blacklist_characters="\r\n"), max_size=80),
    ),
)
kinds = st.sampled_from(
    ["text/plain", "text/html", "text/plain; format=flowed", "text/calendar", "message/rfc822", "multipart/alternative"]
)
encodings = st.sampled_from(["7bit", "base64", "quoted-printable", "x-uuencode", "8bit", "nonsense"])


@st.composite
def mails(draw: st.DrawFn) -> bytes:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        body = "".join(draw(st.lists(pieces, max_size=4)))
        head = f"Content-Type: {draw(kinds)}\r\nContent-Transfer-Encoding: {draw(encodings)}\r\n{draw(fields)}\r\n\r\n"
        parts.append(f"--b\r\n{head}{body}\r\n")
    head = "\r\n".join([*draw(st.lists(fields, max_size=4)), "Content-Type: multipart/mixed; boundary=b"])
    return f"{head}\r\n\r\n{''.join(parts)}--b--".encode("utf-8", "surrogatepass")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(mails())
def test_whatever_a_mail_is_made_of_it_is_read_shown_and_indexed(raw: bytes) -> None:
    read_everything(raw)
    parsed = parse(raw)
    judge(parsed.headers, parsed.sender, parsed.reply_to, ("example.com",))
    texts_of(parsed.subject, parsed.body.text + parsed.body.html, tuple(file.filename for file in parsed.attachments))
