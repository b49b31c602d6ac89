"""A mail that cannot be read in time, or breaks its reader, is shown as far as it can be, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.mime import odd_mails

from postroom.mime import guarded, render
from postroom.mime.processes.workers import Workers
from postroom.mime.quotes.earlier import Earlier
from postroom.mime.quotes.folding import ThreadContext
from postroom.mime.read.parse import Parsed
from postroom.mime.render import Rendered
from postroom.model.message import Body

HTML = "<head><title>no</title><style>p{color:red}</style></head><!-- no --><p>Dear\nall,</p><p>5 &lt; 6</p>"
LONG = HTML + "<p>more words</p>" * 10_000


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made = Workers(count=1, seconds=5.0)
    monkeypatch.setattr(guarded, "shared", made)
    yield
    made.close()


def shown(body: Body, fmt: render.Format = "markdown") -> Rendered:
    return guarded.render(body, fmt=fmt, keep_quoted=False)


@pytest.mark.parametrize("fmt", ["markdown", "text", "html"])
def test_large_mails_read_by_a_worker_look_like_all_others(fmt: render.Format) -> None:
    body = Body(html=LONG)
    assert shown(body, fmt) == render.render(body, fmt=fmt, keep_quoted=False)
    assert guarded.snippet(body) == render.snippet(body)
    assert guarded.search_text(body) == render.search_text(body)
    assert guarded.snippet_and_words(Parsed(body=body)) == (render.snippet(body), render.search_text(body))


@pytest.mark.parametrize("fmt", ["markdown", "text", "html"])
def test_a_worker_knows_what_earlier_mail_said(fmt: render.Format) -> None:
    old = "".join(f"<p>Point {number} of our plan is settled.</p>" for number in range(3_000))
    body = Body(html=f"<p>Fine.</p><blockquote type=cite>{old}</blockquote>")
    earlier = Earlier([render.render(Body(html=old), fmt="markdown", keep_quoted=True).whole])
    context = ThreadContext(is_reply=True, earlier=earlier)
    folded = render.render(body, fmt=fmt, keep_quoted=False, context=context)
    assert folded.quoted_folded > 90_000
    assert not guarded.is_small(body)
    assert guarded.render(body, fmt=fmt, keep_quoted=False, context=context) == folded
    assert guarded.snippet(body, context) == "Fine."


def test_large_mails_are_taken_apart_by_a_worker() -> None:
    raw = b"Subject: x\r\n\r\n" + b"hello\r\n" * 400_000
    parsed = guarded.parse(raw)
    assert (parsed.subject, parsed.size) == ("x", len(raw))


@pytest.mark.parametrize("html", [HTML, LONG])
def test_a_mail_that_breaks_its_reader_is_shown_as_plain_words(html: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "render", odd_mails.raise_instead)
    rendered = shown(Body(html=html))
    assert rendered.text.startswith("Dear\nall, 5 < 6")
    assert "Reading it failed" in rendered.defects[0]
    assert not rendered.whole  # words that nobody was shown as they are cannot make a later mail a copy
    assert shown(Body(html=html), "html").text.startswith("<p>Dear\nall, 5 &lt; 6")


def test_a_mail_that_takes_too_long_is_shown_as_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "render", odd_mails.render_for_ever)
    rendered = shown(Body(html=LONG))
    assert rendered.text.startswith("Dear\nall, 5 < 6")
    assert "took too long" in rendered.defects[0]


def test_the_plain_reading_is_preferred_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "render", odd_mails.raise_instead)
    assert shown(Body("plain words", HTML)).text == "plain words"


def test_a_mail_that_cannot_be_taken_apart_shows_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(raw: bytes) -> object:
        if len(raw) > guarded.MAX_INLINE_MAIL // 8:
            raise RecursionError
        return parse(raw)

    parse = guarded.parse_mail
    monkeypatch.setattr(guarded, "parse_mail", breaks)
    parsed = guarded.parse(b"Subject: x\r\n\r\n" + b"hello\r\n" * 100_000)
    assert parsed.subject == "x"
    assert parsed.body.text.startswith("hello\nhello")
    assert any("Reading it failed" in defect for defect in parsed.defects)
    assert parsed.size == 700_014


@pytest.mark.parametrize("html", ["<" * 400_000, "<!--" * 100_000, "<style>" * 60_000, "<a " * 100_000, "&" * 400_000])
def test_stripping_takes_whatever_comes(html: str) -> None:
    assert len(guarded.stripped(Body(html=html))) <= 100_000
