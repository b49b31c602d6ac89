"""Several parts that a reader shows one below the other: what one leaves open, and its style sheet, end with it."""

from __future__ import annotations

import pytest
from tests.unit.mime.calls import calls_of

from postroom.mime import guarded
from postroom.mime.html.document import open_html
from postroom.mime.html.together import open_together
from postroom.mime.quotes.folding import ThreadContext
from postroom.mime.read.bodies import joined
from postroom.mime.read.parse import parse
from postroom.mime.render import Rendered, render, search_text, snippet
from postroom.model.message import Body

OPEN = (
    "<!--",
    "<style>",
    "<script>",
    "<template>",
    "<iframe>",
    "<title>",
    "<textarea>",
    "<noembed>",
    "<plaintext>",
    "<select>",
    "<a href='",
    '<div style="display:none">',
    "<div hidden>",
    "<blockquote type=cite>",
    "<table><tr><td>",
)
LONG = "https://shop.example/" + "q" * 80


def mixed(*parts: tuple[str, str]) -> Body:
    """As it arrives."""
    raw = b"Content-Type: multipart/mixed; boundary=x\r\n\r\n"
    for kind, content in parts:
        raw += f"--x\r\nContent-Type: text/{kind}; charset=utf-8\r\n\r\n{content}\r\n".encode()
    return parse(raw + b"--x--\r\n").body


def together(*documents: str) -> Body:
    return Body("", *joined(documents))


def shown(body: Body) -> Rendered:
    return render(body, fmt="markdown", keep_quoted=True)


@pytest.mark.parametrize("left_open", OPEN)
@pytest.mark.parametrize("footer", [("plain", "Terms of the list"), ("html", "<p>Terms of the list")])
def test_what_a_part_leaves_open_does_not_hide_the_next(left_open: str, footer: tuple[str, str]) -> None:
    body = mixed(("html", f"<p>Good news</p>{left_open}"), footer)
    found = [render(body, fmt=fmt, keep_quoted=True).text for fmt in ("markdown", "text", "words", "html")]
    for text in (*found, snippet(body), search_text(body), guarded.stripped(body)):
        assert "Good news" in text
        assert "Terms of the list" in text
    assert not shown(body).hidden_removed
    assert not shown(body).warnings


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_what_a_style_sheet_hides_in_another_part_is_in_doubt(order: slice) -> None:
    body = together(*("<style>p {display:none}</style><p>Never</p><b>One</b>", "<p>Two</p><b>Three</b>")[order])
    rendered = shown(body)
    assert "Never" not in rendered.text
    assert "[hidden? Two]" in rendered.text
    assert "**One**" in rendered.text
    assert "**Three**" in rendered.text
    assert rendered.hidden_removed == 1
    assert len(rendered.warnings) == 1


def test_a_page_of_one_part_that_lies_over_another_puts_that_in_doubt() -> None:
    cover = '<div style="position:absolute;top:0;left:0;width:999px;height:999px;background:#fff">One</div>'
    assert "[hidden? Two]" in shown(together(cover, "<p>Two</p>")).text


def test_what_is_marked_is_marked_once() -> None:
    body = together("<style>.a {font-size:3px}</style><p class=a>One</p>", "<p class=a>Two [2]</p>")
    assert shown(body).text == "[hidden? One]\n\n[hidden? Two (2)]"


def test_hidden_text_is_counted_in_every_part() -> None:
    body = together("<p hidden>One</p><p>Two</p>", "<!-- three -->Four", "<p>Five</p><style>p {color:#fff}</style>")
    rendered = shown(body)
    assert rendered.hidden_removed == 3
    assert rendered.text.split() == ["[hidden?", "Two]", "Four"]


def test_links_are_numbered_through_all_parts() -> None:
    body = together(f'<p><a href="{LONG}1">one</a>', f'<p><a href="{LONG}2">two</a>')
    assert "#1" in shown(body).text
    assert "#2" in shown(body).text
    links = render(body, fmt="links", keep_quoted=True).text
    assert links == f"1. {LONG}1\n2. {LONG}2"


@pytest.mark.parametrize("fmt", ["markdown", "html"])
def test_what_follows_a_quoted_message_in_another_part_is_no_quote(fmt: str) -> None:
    quoted = "<p>See you there.</p><div id=appendonsend></div><p>Shall we meet at noon?</p>"
    body = together(quoted, "<p>Terms of the list</p>", "<blockquote type=cite>Shall we meet?</blockquote>")
    rendered = render(body, fmt=fmt, keep_quoted=False, context=ThreadContext(is_reply=True))  # type: ignore[arg-type]
    assert "Terms of the list" in rendered.text
    assert "Shall we meet?" not in rendered.text


def test_a_part_that_is_hidden_as_a_whole_leaves_the_others() -> None:
    assert shown(together('<body style="display:none">One', "<p>Two")).text == "[hidden? Two]"
    assert shown(together("<frameset><frame src=a>", "<p>Two")).text == "Two"


def test_many_parts_take_little_more_work_than_one() -> None:
    sheet = "".join(f".a{number} b ~ i p > p {{opacity:.{number}}}" for number in range(400))
    boxes = [f"<div class=a{number}><b></b><i><p style='font-size:{number}px'>x</div>" for number in range(1_500)]
    alone = calls_of(lambda: open_html(f"<style>{sheet}</style>" + "".join(boxes)))
    parts = [f"<style>{sheet}</style>" + "".join(boxes[:300])] * 150
    assert calls_of(lambda: open_together(parts)) < 3 * alone


def test_as_many_parts_are_shown_as_are_read() -> None:
    rendered = shown(together(*(f"<p>word{number}" for number in range(1_000))))
    assert "word199" in rendered.text
    assert "word200" not in rendered.text
    assert rendered.defects
