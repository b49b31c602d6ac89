"""The work that a style sheet makes is counted, and ends at a bound, whatever its author thought of."""

from __future__ import annotations

from functools import partial

import pytest
from tests.unit.mime.calls import calls_of
from tests.unit.mime.dear_styles import DOCUMENTS, SHEETS

from postroom.mime.css import matching
from postroom.mime.css.matching import Matches, count_elements
from postroom.mime.css.rules import read_sheet
from postroom.mime.css.selectors import shape_of
from postroom.mime.html.document import open_html
from postroom.mime.html.doubts import DOUBT_OPENS
from postroom.mime.html.markdown import to_markdown
from postroom.mime.limits import MAX_CASCADE_WORK, MAX_MATCHES, MAX_STYLE_WORK

MOST_CALLS = 60_000  # of a fortieth of the largest document
DEEP = "<div class=a>" * 200 + "<p class=a>x"


def matches(sheet: str, html: str) -> Matches:
    from turbohtml import parse

    document = parse(html)
    return Matches(document, read_sheet(sheet), count_elements(document))


@pytest.mark.parametrize(
    ("selector", "needs", "own"),
    [
        ("td.a > P#b", ("td", ".a", "p", "#b"), ("p", "#b")),
        (".a:not(.b):hover .c", (".a", ".c"), (".c",)),
        ("a[href^='x .y']:link b", ("a", "b"), ("b",)),
        (":is(.a .b, .c) > i", ("i",), ("i",)),
        (r".\78 y", (), ()),
    ],
)
def test_a_selector_says_what_a_document_must_have(selector: str, needs: tuple[str, ...], own: tuple[str, ...]) -> None:
    shape = shape_of(selector)
    assert (shape.needs, shape.own) == (needs, own)


def test_a_rule_for_names_that_do_not_occur_is_not_even_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_STYLE_WORK", 0)
    unused = "".join(f".b{number} p{{color:red}}video{{color:red}}" for number in range(50))
    assert matches(unused, DEEP).is_whole
    assert not matches(unused + ".a p{color:red}", DEEP).is_whole


@pytest.mark.parametrize("selector", [".z .a", ":has(.z)", ".a ~ .a", ":lang(de) .a", ":is(.z :is(.z .a) .a)"])
def test_selectors_that_go_through_what_is_around_cost_more_in_a_deep_document(
    selector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "_MANY", 0)
    monkeypatch.setattr(matching, "MAX_STYLE_WORK", 2_000)
    html = f"<i class=z></i>{DEEP}"
    assert matches(".a{color:red}", html).is_whole
    assert not matches(selector + "{color:red}", html).is_whole


def test_long_lists_of_classes_cost_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_MANY", 0)
    monkeypatch.setattr(matching, "MAX_STYLE_WORK", 2_000)
    assert not matches(".a{color:red}", f"<p class='a {'b ' * 40_000}'>x").is_whole


def test_the_same_selector_is_matched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    once = matches(".a{color:red}" * 30, DEEP)
    monkeypatch.setattr(matching, "MAX_STYLE_WORK", 500)
    assert matches(".a{color:red}" * 30, DEEP).is_whole
    assert max(map(len, map(once.rules_of, once.groups.values()))) == 30


def test_matches_end_at_a_bound_and_cheaper_rules_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_MATCHES", 150)
    found = matches(".a{color:red}p{color:blue}", DEEP)
    assert not found.is_whole
    assert len(found.groups) == 1


def test_styles_beyond_the_bound_leave_their_text_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_CASCADE_WORK", 1_000)
    html = "".join(f"<p style='margin:{number}px'>a</p>" for number in range(1_000)) + "<p style='color:#fff'>b</p><p>c"
    opened = open_html(html)
    shown = to_markdown(opened.document)
    assert not opened.is_judged
    assert shown.startswith("a\n")
    assert DOUBT_OPENS in shown
    assert shown.endswith("b]\n\nc")


def test_one_style_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_CASCADE_WORK", 1_000)
    assert open_html("<p style='margin:1px'>a</p>" * 1_000).is_judged


def test_functions_and_variables_count_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_CASCADE_WORK", 1_800)
    plain, dear = (
        "".join(f"<p style='color:{colour % number}'>a</p>" for number in range(100, 190))
        for colour in ("#000%d", "rgb(%d 0 0 / 50%%)")
    )
    assert open_html(plain).is_judged
    assert not open_html(dear).is_judged


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_sheet_and_document_make_more_work_together_than_the_bounds_allow(
    sheet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All bounds, and the documents, at a fortieth of their size; calls are counted, of Python and of libraries."""
    monkeypatch.setattr(matching, "MAX_CASCADE_WORK", MAX_CASCADE_WORK // 40)
    monkeypatch.setattr(matching, "MAX_STYLE_WORK", MAX_STYLE_WORK // 40)
    monkeypatch.setattr(matching, "MAX_MATCHES", MAX_MATCHES // 40)
    rules = SHEETS[sheet](60)
    calls = {
        name: calls_of(partial(open_html, f"<style>@keyframes k{{to{{top:0}}}}{rules}</style>{document(600)}"))
        for name, document in DOCUMENTS.items()
    }
    assert {name: count for name, count in calls.items() if count > MOST_CALLS} == {}
