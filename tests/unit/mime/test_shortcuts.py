"""What is common is read by a shorter way. The result is that of the long way."""

from __future__ import annotations

from base64 import encodebytes
from random import Random

import pytest
from tests.unit.mime import hiding_ways

from postroom.mime import clean, render
from postroom.mime.css.matching import count_elements
from postroom.mime.html.document import _parse
from postroom.mime.quotes import html as quotes
from postroom.mime.quotes.folding import ThreadContext
from postroom.mime.read import bodies, headers, parameters
from postroom.mime.read.dates import read_date
from postroom.mime.read.decode import decode_transfer, decoded_size
from postroom.mime.read.parameters import read_parameters
from postroom.mime.read.parse import parse

FILLING = "words that fill a line of a message with seventy characters or so in all"
LINES = [
    *("", "  ", "word", FILLING, FILLING, "y " * 400, "https://x.example/abc", "View in browser", "\u3164\u3164"),
    *("> a quoted line", ">", "On Mon, 1 Jan 2024 Bob <b@x.example> wrote:", "On Mon, 1 Jan 2024 at 10:00,"),
    *("Bob Smith <b@x.example>", "Bob wrote:", "_" * 30, "-----Original Message-----", "From: a <a@b.example>"),
    *(
        "Sent: Monday",
        "To: b",
        "Subject: Hello",
        "---------- Forwarded message ----------",
        "写道：",
        "==========",
        "m",
    ),
]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("is_html", [False, True])
def test_a_snippet_of_the_first_lines_is_that_of_all(seed: int, is_html: bool) -> None:
    chance = Random(seed)
    weights = [chance.random() ** 3 for _ in LINES]
    for _ in range(40):
        lines = chance.choices(LINES, weights, k=chance.choice((1, 3, 8, 15, 39, 40, 41, 44, 60)))
        flags = [quotes._TOKEN + line if is_html and line in ("m", "b", "e") else line for line in lines]
        text, context = "\n".join(flags), ThreadContext(chance.random() < 0.5, subject="Hello")
        length = chance.choice((20, 140, 300))
        whole = render._first_words(text, is_html, length, context)
        assert render.first_words((text, is_html), length, context) == whole


def test_the_lines_of_an_attribution_are_in_no_snippet() -> None:
    """Not even where it begins within the first lines and can be told from them only by lines below."""
    wide = " " * 100
    text = f"hello{wide}\nthere{wide}\nOn Monday{wide}\nthe first of January\n<b@x.example> wrote:\n> Shall we?"
    assert render.first_words((text, False), context=ThreadContext(True)) == "hello there"


@pytest.mark.parametrize(
    "value",
    [
        'multipart/mixed; boundary="abc"',
        'multipart/alternative;boundary="=_a b;c=d (e)"',
        'multipart/mixed; boundary="a?b"',
        'multipart/mixed; boundary="=?utf-8?q?a?="',
        r'multipart/mixed; boundary="a\"b"',
        'multipart/mixed; boundary="a"; charset=x',
        'MULTIPART/mixed; BOUNDARY="a"',
        'multipart/mixed; boundary=""',
        f'multipart/mixed; boundary="{"a" * 300}"',
    ],
)
def test_a_boundary_is_read_as_every_parameter_is(value: str) -> None:
    assert read_parameters(value) == parameters._read.__wrapped__(value)


def test_the_size_of_base64_ends_at_its_first_padding() -> None:
    data = encodebytes(b"x" * 57 * 3)
    early = data[:76] + b"\n" + data[77:151] + b"==\n" + data[154:]
    assert decoded_size(early, "base64") == len(decode_transfer(early, "base64")) < len(decode_transfer(data, "base64"))


@pytest.mark.parametrize("head", ["", "; charset=utf-8", '; name="a.txt"', "\r\nContent-Disposition: attachment"])
@pytest.mark.parametrize("kinds", [("plain", "html"), ("html", "plain"), ("plain", "plain"), ("plain", "html", "html")])
def test_two_versions_are_sorted_as_several_are(
    head: str, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = "".join(f"--b\r\nContent-Type: text/{kind}{head}\r\n\r\n<p>{kind}</p>\r\n" for kind in kinds)
    raw = f'Content-Type: multipart/alternative; boundary="b"\r\n\r\n{parts}--b--\r\n'.encode()
    parsed = parse(raw)
    monkeypatch.setattr(bodies, "_are_usual", lambda versions: False)
    assert parse(raw) == parsed


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit",
        b"A: 1\nA: 2\r\n\tfolded\r\n  twice\rB: 3",
        b"From someone\r\nA: 1",
        b"A: 1\r\nno field\r\nB: 2",
        b"A: 1\r\nno field\r\nnone either\r\nB: 2",
        b"no field",
        "A: ä\r\nContent-Type: text/plain; charset=iso-8859-1".encode("latin-1"),
        b"A:" + b"\n:" * 99,
        b"A: " + b"x" * 195,
        b"A: " + b"x" * 199,
    ],
)
@pytest.mark.parametrize("before", [b"", b"--b\r\n"])
def test_a_short_header_block_is_read_as_a_long_one(block: bytes, before: bytes) -> None:
    data = before + block + b"\r\n\r\nA: in the body"
    for _ in range(2):  # the second time it is remembered
        found = headers.read_headers(data, len(before))
        wanted = headers._read_block(data, len(before), *headers._find_end(data, len(before), len(data)), 2_000, 60_000)
        assert (list(found.fields), found.body_start, found.defects) == (
            list(wanted.fields),
            wanted.body_start,
            wanted.defects,
        )


def test_no_more_headers_of_a_short_block_are_read_than_are_left() -> None:
    for most, most_bytes in ((1, 600), (600, 5)):
        found = headers.read_headers(b"A: 1\r\nB: 2\r\n\r\n", most=most, most_bytes=most_bytes)
        assert list(found.fields) == [("a", "1")]
        assert found.defects


@pytest.mark.parametrize("seed", range(20))
def test_a_plain_line_is_cleaned_as_every_line_is(seed: int) -> None:
    chance = Random(seed)
    for _ in range(200):
        line = "".join(
            chance.choices("ab .~\x7f\t\n\x1b\xa0é\u200b", (9, 9, 4, 1, 1, *[0.1] * 7), k=chance.randrange(12))
        )
        assert clean.clean_line(line) == clean._line.__wrapped__(line)


@pytest.mark.parametrize("date", ["Thu, 30 Jun 2022 15:14:24 +0200", "1 Jan 2024 00:00:00 -0000 (a zone)"])
@pytest.mark.parametrize("blank", ["  ", "\t", " \r\n "])
def test_a_date_with_other_blanks_is_the_same_date(date: str, blank: str) -> None:
    assert read_date(date) == read_date(date.replace(" ", blank)) == read_date(f"{blank}{date}{blank}") is not None


@pytest.mark.parametrize("way", [*hiding_ways.HIDDEN, *hiding_ways.SEEN, *hiding_ways.DOUBTFUL])
def test_a_document_has_no_more_elements_than_are_listed(way: str) -> None:
    """What is listed once is not counted again."""
    document = _parse(hiding_ways.page(way))
    assert count_elements(document) <= len(document.select("*"))
