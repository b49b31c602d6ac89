"""Style sheets taken apart as the CSS standard says: tinycss2 is the reference."""

from __future__ import annotations

import pytest
import tinycss2
from hypothesis import given
from hypothesis import strategies as st

from postroom.mime.css.media import media_holds
from postroom.mime.css.rules import read_sheet
from postroom.mime.css.syntax import declarations
from postroom.mime.css.values import colour, legacy_colour, pixels

_SIGNS = ["color", "display", ":", ";", " ", "none", "red", "!important", "(", ")", "[", "]", "{", "}", "/*", "*/"]
_SIGNS += ['"', "'", "url(a;b)", "url(", "\\;", ",", "\n", "-x", "0", "#fff"]
_PIECES = st.lists(st.sampled_from(_SIGNS), max_size=14)


def by_reference(text: str) -> list[tuple[str, bool]]:
    nodes = tinycss2.parse_blocks_contents(text, skip_comments=True, skip_whitespace=True)
    return [(node.lower_name, node.important) for node in nodes if node.type == "declaration"]


@given(_PIECES)
def test_no_declaration_of_the_standard_is_overlooked(pieces: list[str]) -> None:
    """More may be found: what a browser takes as broken has no valid value, and is dropped later."""
    text = "".join(pieces)
    if any(sign in text for sign in "{}"):
        return  # where a block stands in a declaration's way the drafts of the standard differ
    found = [(one.name, one.important) for one in declarations(text)]
    assert [one for one in by_reference(text) if one not in found] == []


@pytest.mark.parametrize(
    "text",
    [
        "a{top:0",
        "}a{top:0}",
        "a{top:0}}d{top:0}",
        "@media{",
        "a{top:'}'}c{top:0}",
        "a{top:(}c{top:0}",
        "a;b{top:0}",
        "@a;b{top:0}",
        " ;b{top:0}",
    ],
)
def test_broken_sheets_give_the_rules_of_the_reference(text: str) -> None:
    rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
    expected = [tinycss2.serialize(rule.prelude).strip() for rule in rules if rule.type == "qualified-rule"]
    valid = [selector for selector in expected if selector.isalpha()]
    assert [rule.selector for rule in read_sheet(text).rules] == valid


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("", True),
        ("screen", True),
        ("print", False),
        ("not print", True),
        ("only screen and (max-width: 600px)", False),
        ("(min-width: 481px) and (max-width: 900px)", True),
        ("(prefers-color-scheme: dark)", False),
        ("print, (width > 1px)", True),
        ("not all and (monochrome)", True),
        ("(not (hover: none))", True),
        ("(width >= 600px)", True),
        ("(bogus)", False),
        ("(400px <= width <= 700px)", False),
        ("screen and (-webkit-min-device-pixel-ratio: 2)", False),
        ("(" * 50, False),
    ],
)
def test_conditions_hold_as_on_a_screen_of_800_pixels(query: str, holds: bool) -> None:
    assert media_holds(query) is holds


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("12px", 12),
        ("1in", 96),
        ("2em", 32),
        ("50%", 400),
        ("calc(10px - 2 * 5px)", 0),
        ("min(3px, 1em)", 3),
        ("auto", None),
        ("clamp(1px, 9px, 4px)", 4),
        ("calc(", None),
        ("calc(1px / 0)", None),
        ("1e2px", 100),
    ],
)
def test_lengths_are_pixels(value: str, length: float | None) -> None:
    assert pixels(value) == length


def test_every_colour_name_is_known() -> None:
    assert colour("papayawhip") == (255, 239, 213, 1.0)
    assert colour("darkolivegreen") == (85, 107, 47, 1.0)
    assert colour("notacolour") is None
    assert legacy_colour("chucknorris") == (192, 0, 0, 1.0)
