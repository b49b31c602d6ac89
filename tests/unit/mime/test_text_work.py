"""The work of reading plain text and headers, counted: lines are examined one by one up to a bound."""

from __future__ import annotations

import pytest
from tests.unit.mime.calls import calls_of
from tests.unit.mime.hostile_mails import HEADERS, STRUCTURE, TEXTS

from postroom.mime import render as rendering
from postroom.mime.html import links
from postroom.mime.limits import MAX_LINES
from postroom.mime.quotes import regions
from postroom.mime.quotes.folding import ThreadContext, fold_text
from postroom.mime.read import addresses, flowed
from postroom.mime.read.charsets import _CHARMAPS, _with_gaps
from postroom.mime.read.decode import decode_transfer
from postroom.mime.read.flowed import unflow
from postroom.mime.read.parse import parse
from postroom.mime.render import render, search_text, snippet
from postroom.model.message import Body

FEW = 400  # lines, links and marks in addresses: the real bounds would make the tests slow
SIZE = 60_000
REPLY = ThreadContext(is_reply=True, subject="x")
MAILS = {
    **{name: mail for name, mail in TEXTS.items() if name != "links to redirectors"},
    **{name: STRUCTURE[name] for name in ("breaks in a body", "returns in a body", "returns")},
    **{name: mail for name, mail in HEADERS.items() if name.startswith(("all add", "eight")) and "=?" not in name},
}


@pytest.fixture
def low_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (regions, flowed):
        monkeypatch.setattr(module, "MAX_LINES", FEW)
    monkeypatch.setattr(links, "MAX_LINKS", FEW)
    monkeypatch.setattr(addresses, "MAX_ADDRESS_STEPS", FEW)
    monkeypatch.setattr(rendering, "_SNIPPET_WITHIN", 2_000)


def read(raw: bytes) -> None:
    parsed = parse(raw)
    render(parsed.body, fmt="markdown", keep_quoted=False, context=REPLY)
    snippet(parsed.body, context=REPLY)
    search_text(parsed.body)


@pytest.mark.usefixtures("low_bounds")
@pytest.mark.parametrize("name", MAILS)
def test_twice_as_much_text_beyond_the_bounds_makes_no_more_calls(name: str) -> None:
    once, twice = MAILS[name](SIZE), MAILS[name](2 * SIZE)
    read(MAILS[name](SIZE // 2))  # what the first message loads does not count
    assert calls_of(lambda: read(twice)) - calls_of(lambda: read(once)) < 50


@pytest.mark.usefixtures("low_bounds")
def test_links_beyond_the_bound_are_only_cut() -> None:
    once, twice = (TEXTS["links to redirectors"](size) for size in (SIZE, 2 * SIZE))
    assert calls_of(lambda: read(twice)) - calls_of(lambda: read(once)) < 3 * SIZE // 60


def test_lines_beyond_the_bound_are_shown_as_they_are() -> None:
    text = "\n".join(["On 1 Jan 2024 Bob <bob@example.com> wrote:", *["> a"] * (MAX_LINES + 5), "> the end"])
    assert fold_text(text, REPLY).text == text
    assert render(Body(text), fmt="text", keep_quoted=False, context=REPLY).text == text


def test_flowed_lines_beyond_the_bound_stay_apart() -> None:
    lines = unflow("a \n" * (MAX_LINES + 5) + "b").split("\n")
    assert lines == ["a " * MAX_LINES, *["a "] * 5, "b"]
    assert unflow("a \n" * (MAX_LINES - 1) + "b") == "a " * (MAX_LINES - 1) + "b"


@pytest.mark.parametrize("codec", sorted(_CHARMAPS | {"utf_7"}))
def test_bytes_that_a_charset_lacks_are_replaced_as_the_codec_does_it(codec: str) -> None:
    data = bytes(set(range(256)) - {0x1A}) + b"+AOQ\xff- +\xe4AOQ-"
    assert _with_gaps(data, codec) == data.decode(codec, "replace")


def test_uuencoded_lines_that_claim_more_than_they_have_are_decoded_up_to_the_bound() -> None:
    assert 1_000 < len(decode_transfer(b"M\r\n" * 10_000, "x-uuencode", 1_000)) < 1_100
    assert len(decode_transfer(b"M\r\n" * 10_000, "x-uuencode")) == 450_000


@pytest.mark.usefixtures("low_bounds")
def test_addresses_beyond_so_many_marks_are_left_out_and_it_is_said() -> None:
    parsed = parse(b"To: a@x.example, " + b"; " * 2 * FEW + b"b@x.example\r\nCc: c@x.example;\r\n\r\nbody")
    assert [address.email for address in parsed.to] == ["a@x.example"]
    assert [address.email for address in parsed.cc] == ["c@x.example"]
    assert parsed.defects == ("The header To is too complicated; the rest of its addresses were omitted.",)
