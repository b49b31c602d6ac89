from __future__ import annotations

import fnmatch
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.glob import glob_matches, marked


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("*@substack.com", "News@Substack.com", True),
        ("*@substack.com", "news@substack.com.evil.example", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*", "", True),
        ("", "", True),
        ("", "x", False),
        ("?", "ä", True),
        ("in?oice*4?", "Invoice no 47", True),
        (r"100\*", "100*", True),
        (r"100\*", "1000", False),
        ("a\\", "a\\", True),
        ("[ab]", "a", False),
        ("grüße*", "GRÜSSE", False),
        ("gru\u0308n", "grün", True),
    ],
)
def test_a_glob_matches_the_whole_text_without_regard_to_case(pattern: str, text: str, matches: bool) -> None:
    assert glob_matches(pattern, text) is matches


@given(st.text("ab*?", max_size=12), st.text("ab", max_size=20))
def test_globs_agree_with_those_of_the_standard_library(pattern: str, text: str) -> None:
    assert glob_matches(pattern, text) is fnmatch.fnmatchcase(text, pattern)


def steps(pattern: str, text: str) -> int:
    """Lines that are executed: what a busy machine cannot change."""
    count = 0

    def trace(*_: object) -> object:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        glob_matches(pattern, text)
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*a*a*b", "*a?a?a*a?a?a*b", "*?a*?a*?a*?b"])
def test_a_hostile_glob_takes_time_in_proportion_to_the_text(pattern: str) -> None:
    short, long = steps(pattern, "a" * 500), steps(pattern, "a" * 2000)

    assert long < 6 * max(short, 100)


def test_wildcards_are_marked() -> None:
    assert marked(r"*a?b\*", "#") == "#a#b*"
