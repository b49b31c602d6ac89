"""Rows of a listing show cleaned text, and what is clean already is not changed by a shorter way to find that out."""

from __future__ import annotations

import pytest

from postroom.mime.clean import clean_line
from postroom.service.presenting import _clean


@pytest.mark.parametrize(
    "text",
    [
        "",
        "…",
        " …",
        "… ",
        "a…",
        "a …",
        "a  b…",
        "a…b",
        "a……",
        "a\u200b…",
        "ä…",
        "a\tb…",
        "a\n…",
        "\x07…",
        "a\x7f…",
        "a\u202e…",
    ],
)
def test_a_snippet_with_an_ellipsis_is_cleaned_as_any_text(text: str) -> None:
    assert _clean(text) == clean_line(text)
