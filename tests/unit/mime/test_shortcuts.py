"""What is common is read by a shorter way. The result is that of the long way."""

from __future__ import annotations

from base64 import encodebytes
from random import Random

import pytest

from postroom.mime import render
from postroom.mime.quotes import html as quotes
from postroom.mime.quotes.folding import ThreadContext
from postroom.mime.read import bodies, parameters
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
