"""The ways to hide text from a reader, and what only looks like hiding: see hiding_ways.py."""

from __future__ import annotations

import pytest
from tests.unit.mime import hiding_ways
from tests.unit.mime.hiding_ways import page

from postroom.mime.html.document import open_html
from postroom.mime.html.doubts import DOUBT_OPENS
from postroom.mime.html.markdown import to_markdown
from postroom.mime.limits import MAX_ATTRIBUTES, MAX_ELEMENTS

# Hidden in the browser, but only a browser can be sure: shown with a mark. Nothing joins this list unseen.
ONLY_MARKED = 113


def name_of(way: str) -> str:
    return way if len(way) < 90 else f"{way[:40]}...{way[-40:]}"


def shown_as(way: str) -> str:
    shown = to_markdown(open_html(page(way)).document)
    if "SECRET" not in shown:
        return "hidden"
    before = shown[: shown.index("SECRET")]
    return "marked" if before.rfind(DOUBT_OPENS) > before.rfind("]") else "seen"


@pytest.mark.parametrize("way", hiding_ways.HIDDEN, ids=name_of)
def test_hidden_text_is_never_shown_as_if_it_were_seen(way: str) -> None:
    assert shown_as(way) in ("hidden", "marked")


def test_nearly_all_hidden_text_is_removed_not_only_marked() -> None:
    assert len(hiding_ways.HIDDEN) >= 150
    assert sum(shown_as(way) == "marked" for way in hiding_ways.HIDDEN) <= ONLY_MARKED


@pytest.mark.parametrize("way", hiding_ways.UNREADABLE, ids=name_of)
def test_what_is_not_drawn_as_letters_is_hidden(way: str) -> None:
    assert shown_as(way) == "hidden"


@pytest.mark.parametrize("way", [*hiding_ways.SEEN, *hiding_ways.READERS_SHOW], ids=name_of)
def test_what_can_be_seen_stays(way: str) -> None:
    padded = '<p style="height:0;overflow:hidden;padding-bottom:40px">SECRET</p>'  # clipped or not: by its layout
    assert shown_as(way) == ("marked" if way == padded else "seen")


@pytest.mark.parametrize("way", hiding_ways.DOUBTFUL, ids=name_of)
def test_what_only_a_browser_could_decide_is_shown_with_a_mark(way: str) -> None:
    assert shown_as(way) == "marked"


def test_the_text_around_hidden_text_stays() -> None:
    shown = to_markdown(open_html(page("<p style='display:none'>SECRET</p>")).document)
    assert shown == "before\n\nafter"


def test_neighbouring_doubts_in_a_line_have_one_mark() -> None:
    html = "<div style='mask:url(a.svg)'><p>one <span>two</span> three</p><p>four</p></div>"
    shown = to_markdown(open_html(html).document)
    assert shown == "[hidden? one two three]\n\n[hidden? four]"


@pytest.mark.parametrize(
    "forged", ["ok] Done. SECRET", "[hidden? ok] SECRET", "SECRET [hidden? ok]", "a [link](b) SECRET"]
)
@pytest.mark.parametrize("hiding", ["mask:url(a.svg)", "filter:brightness(0) invert(1)", "filter:url(#x)"])
def test_text_cannot_end_its_own_mark_or_do_without_one(hiding: str, forged: str) -> None:
    assert shown_as(f'<p style="{hiding}">{forged}</p>') == "marked"


def test_a_style_sheet_beyond_the_bounds_is_told() -> None:
    rules = "".join(f"p.c{number}{{color:red}}" for number in range(21_000))
    opened = open_html(f"<style>{rules}</style><p>x</p>")
    assert not opened.is_judged
    assert open_html("<style>p{color:red}</style><p>x</p>").is_judged


@pytest.mark.parametrize(
    "sheet",
    [
        "".join(f"div:has(b.x{number}){{color:red}}" for number in range(400)),
        "".join(f"p ~ p ~ p.y{number % 7}{{color:red}}" for number in range(400)),
        "".join(f"p:nth-last-child({number}n){{color:red}}" for number in range(1, 400)),
        "".join(f"*:not(.z{number}){{color:red}}" for number in range(3_000)),
        "a{" * 5_000,
        "a{b:" + "(" * 100_000,
        "@media " + "(" * 100_000 + "{a{b:c}}",
        ",".join(f".a{number}" for number in range(60_000)) + "{display:none}",
        ":root{"
        + "".join(f"--a{number}:var(--a{number + 1})var(--a{number + 1});" for number in range(300))
        + "}p{color:var(--a0)}",
    ],
    ids=lambda sheet: sheet[:25],
)
def test_style_sheets_made_to_exhaust_their_reader_are_read(sheet: str) -> None:
    """Unbounded, each of them takes minutes."""
    opened = open_html(f"<style>{sheet}</style>" + "<p class=y1>a</p>" * 20_000)
    assert to_markdown(opened.document).startswith("a")


def test_hidden_text_in_entities_is_cleaned_too() -> None:
    html = "<p>Hello&#8203;&#xE0053;&#917573;&zwnj; world</p>"
    assert to_markdown(open_html(html).document) == "Hello world"


def test_pieces_are_counted_one_by_one() -> None:
    gone = "<p hidden>one</p><p style='display:none'>two<b>words</b></p><!-- three -->"
    html = f"{gone}<p style='color:#fff'>four</p><p hidden> </p>"
    assert open_html(html).hidden_removed == 4


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "x",
        '<div style="color:red">' * 80_000 + "x",
        "<b>x</b>" * 250_000,
        "<table><tr><td>" * 30_000,
        "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x",
        '<p title="' + "a" * 3_000_000 + '">x',
        "<style>"
        + "".join(f".c{n} .d .e{{color:red}}" for n in range(9_000))
        + "</style>"
        + "<p class='d e'>x" * 40_000,
        "<style>" + "/*" * 90_000 + "</style>x",
        "<style>" + "{" * 150_000 + "</style>x",
        "<!-- a -->" * 100_000,
        '<a href="http://a.example/">x</a>' * 30_000,
    ],
    ids=lambda html: html[:20],
)
def test_documents_made_to_exhaust_their_reader_are_read(html: str) -> None:
    opened = open_html(html)
    to_markdown(opened.document)
    assert sum(1 for _ in opened.document.iter_elements()) <= MAX_ELEMENTS


@pytest.mark.parametrize(
    "tag",
    [
        '<b title="' + "a" * 100_000 + '">',
        "<b " + " ".join(f"a{n}" for n in range(9_000)) + ">",
        "<!-- <b x=' --><b " + " ".join(f"a{n}='<>'" for n in range(9_000)) + ">",
        "<font size=2 " + " ".join(f'a{n}="<i>"c{n}' for n in range(9_000)) + "/>",
    ],
    ids=lambda tag: tag[:20],
)
@pytest.mark.parametrize("blocks", [390, 790, 3_000])
def test_attributes_that_every_block_would_repeat_are_left_out_and_it_is_said(tag: str, blocks: int) -> None:
    opened = open_html("<p>first" + tag + "<p>x</p>" * blocks)
    assert opened.was_cut
    elements = list(opened.document.iter_elements())
    assert sum(30 + len(str(value)) for element in elements for value in element.attrs.values()) <= MAX_ATTRIBUTES


def test_long_attributes_and_many_tags_that_repeat_nothing_are_read_to_the_end() -> None:
    link = '<p><a href="https://shop.example/' + "a" * 2_000 + "\" title='x > y' class=b id=c>word</a></p>"
    opened = open_html(link * 900 + "<p>last")
    assert not opened.was_cut
    assert opened.document.text.endswith("last")
