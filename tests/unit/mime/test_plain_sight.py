"""What is proven for a whole document at once is what looking at each of its elements finds."""

from __future__ import annotations

from random import Random

import pytest
from tests.unit.mime import hiding_ways

from postroom.mime.css.stylesheet import Stylesheet
from postroom.mime.html import hidden, plain_sight
from postroom.mime.html.hidden import Removal, drop_hidden
from postroom.mime.html.plain_sight import hidden_alone
from postroom.mime.limits import MAX_CASCADE_WORK

NEWSLETTER = (
    "<!DOCTYPE html><html><head><style>.b{background:#146;color:#fff}.n{display:none}</style></head><body>"
    '<div style="display:none;max-height:0;overflow:hidden">preheader<p style="display:none">in it</p></div>'
    '<table><tr><td style="padding:20px;font-size:16px;color:#333333"><a href="https://x.example">'
    '<img alt="picture" style="display:block"></a><h2 style="margin:0">Title</h2><p class=n>never</p>'
    '<a class=b href="https://x.example">Read</a></td></tr></table></body></html>'
)
WAYS = [
    *(*hiding_ways.HIDDEN, *hiding_ways.SEEN, *hiding_ways.READERS_SHOW),
    *(*hiding_ways.UNREADABLE, *hiding_ways.DOUBTFUL),
]
TAGS = (
    "div",
    "p",
    "span",
    "td",
    "table",
    "a",
    "b",
    "font",
    "h2",
    "li",
    "center",
    "img",
    "tr",
    "mark",
    "col",
    "details",
)
COLOURS = ("#fff", "white", "#000", "#333", "#146", "#fefefe", "#eee", "rgba(255,255,255,.5)", "transparent", "inherit")
STYLES = (
    *("color:{}", "color:{}", "background:{}", "background-color:{};color:{}", "border:1px solid {}"),
    *("font-size:16px", "font-size:3px", "font-size:0.8em", "font-size:1.1em", "font-size:calc(2em - 16px)"),
    *("display:none", "display:block", "display:none;position:absolute;background:#000", "position:relative"),
    *("margin:16px 0 8px", "margin:-30px", "opacity:.5", "line-height:0;overflow:hidden", "height:0", "width:600px"),
    *("background:currentcolor", "--c:{};color:var(--c)", "visibility:hidden", "text-indent:-999px", "height:1px"),
)
PLAIN = (
    "color:{}",
    "background:{};color:{}",
    "font-size:12px",
    "margin:0",
    "display:none",
    "display:block",
    "width:9px",
)
ATTRIBUTES = ("class=a", "class=b", "href=x", 'bgcolor="{}"', 'color="{}"', "hidden", "align=center", "size=1")


def dropped(html: str, monkeypatch: pytest.MonkeyPatch, *, one_by_one: bool = False) -> tuple[str, Removal, bool]:
    """The document and what was removed; and whether that was proven."""
    from turbohtml import parse

    outcome: list[bool] = []

    def asked(document: object, sheet: Stylesheet, *, quirks: bool) -> list[object] | None:
        found = None if one_by_one else hidden_alone(document, sheet, quirks=quirks)  # type: ignore[arg-type]
        outcome.append(found is not None)
        return found  # type: ignore[return-value]

    document = parse(html, positions=False, allow_declarative_shadow_roots=False)
    with monkeypatch.context() as patch:
        patch.setattr(hidden, "hidden_alone", asked)
        removal = drop_hidden(document)
    return document.serialize(), removal, any(outcome)


def is_proven(html: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    *found, proven = dropped(html, monkeypatch)
    *wanted, _ = dropped(html, monkeypatch, one_by_one=True)
    assert found == wanted
    return proven


def test_a_newsletter_is_proven_with_what_it_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    text, removal, proven = dropped(NEWSLETTER, monkeypatch)
    assert proven
    assert [one.words for one in removal.texts] == ["preheaderin it", "never"]
    assert "preheader" not in text
    assert "never" not in text
    assert is_proven(NEWSLETTER, monkeypatch)


@pytest.mark.parametrize(
    "way",
    [
        "<p style='color:#fff'>SECRET</p>",
        "<a style='background:#146;color:#fff'>seen<p>SECRET</p></a>",
        "<div style='font-size:8px'><p style='font-size:calc(2em - 16px)'>SECRET</p></div>",
        "<div style='font-size:8px'><p style='font-size:min(.5em, 8px)'><b style='font-size:min(.5em, 8px)'>SECRET</b>",
        "<p style='font-size:.5em'><b style='font-size:.5em'><i style='font-size:.5em'>SECRET</i></b></p>",
        "<div>SECRET<p style='display:none;position:absolute;background:#000;width:100%;height:100%'>x</p></div>",
        "<body style='display:none'>SECRET",
        "<body bgcolor=black><p>SECRET</p>",
        "<style>p{color:var(--c)}</style><p style='--c:white'>SECRET</p>",
        "<style>@supports (unheard: of){p{color:white}}</style><p>SECRET</p>",
    ],
)
def test_what_may_hide_by_its_surroundings_is_looked_at(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_proven(hiding_ways.page(way), monkeypatch)


def test_hundreds_of_hidden_elements_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_proven("<p style='display:none'>a</p>" * 300, monkeypatch)


def test_a_document_that_may_be_too_much_work_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_proven("<p style='color:red'>a</p>" * 100, monkeypatch)
    assert not is_proven("<p style='color:red'>a</p>" * (MAX_CASCADE_WORK // 4), monkeypatch)


# Each pair has the same in all that the proof is remembered by but one.
ALIKE = (
    (
        "<p style='color:#fff;background:#000'>a</p>",
        "<p style='color:#fff;background:#000'>a<b style='background:#fff'>b",
    ),
    ("<style>.a{color:#333}</style><p class=a>a</p>", "<style>.a{color:#fff}</style><p class=a>a</p>"),
    (
        "<style>.a{color:#333}.b{color:#fff}</style><p class=a>a",
        "<style>.a{color:#333}.b{color:#fff}</style><p class=b>a",
    ),
    ("<body><p style='color:#eee;background:#000'>a", "<body text=white><p style='color:#eee;background:#000'>a"),
    ("<body bgcolor=white><p style='color:#000'>a", "<body bgcolor=black><p style='color:#000'>a"),
    ("<body><a href=x>a</a>", "<body link=white><a href=x>a</a>"),
    ("<html style='color:#333'><body><p>a", "<html style='color:#fff'><body><p>a"),
    ("<font color=black>a</font>", "<font color=white>a</font>"),
    (
        "<!DOCTYPE html><div style='color:#fff;background:#000'><table><tr><td>a",
        "<div style='color:#fff;background:#000'><table><tr><td>a",
    ),
)


@pytest.mark.parametrize("pair", ALIKE)
@pytest.mark.parametrize("order", [1, -1])
def test_what_was_proven_for_one_document_says_nothing_of_a_similar_one(
    pair: tuple[str, str], order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_sight._proof.cache_clear()
    for html in (*pair[::order], *pair[::order]):
        is_proven(html, monkeypatch)


def test_a_proof_is_remembered_for_messages_of_one_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_proven(NEWSLETTER, monkeypatch)
    before = plain_sight._proof.cache_info()
    assert is_proven(NEWSLETTER.replace("Title", "Another").replace("preheader", "other words"), monkeypatch)
    after = plain_sight._proof.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)


def test_long_styles_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain_sight._proof.cache_info()
    styles = [f"color:#333;font-family:{'x' * 900}{number}" for number in range(10)]
    assert is_proven("".join(f"<p style='{style}'>a</p>" for style in styles), monkeypatch)
    assert plain_sight._proof.cache_info() == before


@pytest.mark.parametrize(
    "style", [f"--long:{'x' * 900}", f"display:none;--long:{'x' * 900}", f"font-size:{'0' * 900}16px"]
)
def test_what_may_be_of_any_length_is_not_remembered(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain_sight._is_all_seen.cache_info()
    assert not is_proven(hiding_ways.page(f"<p style='{style}'>words</p>"), monkeypatch)
    assert plain_sight._is_all_seen.cache_info() == before


def test_no_way_of_hiding_is_judged_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = sum(is_proven(hiding_ways.page(way), monkeypatch) for way in WAYS if len(way) < 5_000)
    assert proven > 100


@pytest.mark.parametrize("seed", range(20))
def test_mixtures_are_judged_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    assert sum(is_proven(mixture(chance), monkeypatch) for _ in range(60)) > 5


def mixture(chance: Random) -> str:
    styles = STYLES if chance.random() < 0.4 else PLAIN
    colours = chance.sample(COLOURS, 3)

    def filled(text: str) -> str:
        return text.replace("{}", chance.choice(colours))

    def tree(depth: int) -> str:
        if depth > 5 or chance.random() < 0.3:
            return chance.choice(("words ", "x", "<br>", "&nbsp;"))
        tag = chance.choice(TAGS[:13] if styles is PLAIN else TAGS)
        style = f" style='{filled(chance.choice(styles))}'" if chance.random() < 0.6 else ""
        more = f" {filled(chance.choice(ATTRIBUTES))}" if chance.random() < 0.3 else ""
        return f"<{tag}{style}{more}>{''.join(tree(depth + 1) for _ in range(chance.choice((0, 1, 2, 3))))}</{tag}>"

    rules = "".join(f"{name}{{{filled(chance.choice(styles))}}}" for name in (".a", ".b", "td", "div p"))
    sheet = f"<style>{rules}</style>" if chance.random() < 0.5 else ""
    doctype = chance.choice(("<!DOCTYPE html>", ""))
    return f"{doctype}<html><head>{sheet}</head><body>{tree(0)}{tree(0)}{tree(0)}</body></html>"
