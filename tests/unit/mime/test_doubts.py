"""Text that may be invisible is marked wherever a page of it begins."""

from __future__ import annotations

import re

import pytest

from postroom.mime.html.doubts import DOUBT_CLOSES, DOUBT_OPENS, in_doubt, page, with_even_marks
from postroom.mime.render import render
from postroom.model.message import Body

WORDS = " ".join(f"word{number}" for number in range(400))
MARKS = re.compile(rf"{re.escape(DOUBT_OPENS)}|{re.escape(DOUBT_CLOSES)}")


def pages(text: str, length: int) -> list[str]:
    found, offset = [], 0
    while offset < len(text):
        start, end = page(text, offset, length)
        assert start <= offset < end
        found.append(text[start:end])
        offset = end
    return found


def unmarked(shown: str) -> str:
    """What is under no mark, be it closed on this page or not."""
    return re.sub(rf"{re.escape(DOUBT_OPENS)}[^\]]*(?:\]|\Z)", "", shown)


@pytest.mark.parametrize("length", [1, 7, 100, 299, 1_000, 5_000])
def test_no_page_shows_doubtful_words_without_their_mark(length: int) -> None:
    text = with_even_marks(f"before {in_doubt(WORDS)} after")
    assert "word" not in "".join(map(unmarked, pages(text, length)))


def test_a_long_run_loses_and_gains_no_word() -> None:
    assert MARKS.sub("", with_even_marks(in_doubt(WORDS))) == WORDS
    assert MARKS.sub("", with_even_marks(in_doubt("x" * 1_000))) == "x" * 1_000


def test_a_mark_that_a_stranger_wrote_and_never_closes_turns_no_page_back() -> None:
    text = f"{DOUBT_OPENS}{WORDS}"
    assert "".join(pages(text, 500)) == text


def test_a_mark_that_a_stranger_wrote_makes_no_page_longer() -> None:
    lines = "\n".join(WORDS.split())
    text = f"before {DOUBT_OPENS}{lines}{DOUBT_CLOSES} after"
    assert page(text, 20, 100) == (20, 120)


def test_pages_that_are_asked_for_by_their_length_have_the_whole_text() -> None:
    text = f"{'a' * 900}{in_doubt('b ' * 100)}{'c' * 2_000}"
    shown = [page(text, offset, 1_000) for offset in range(0, len(text), 1_000)]
    assert {place for start, end in shown for place in range(start, end)} >= set(range(len(text)))
    assert all(end - start <= 1_310 for start, end in shown)


def test_a_page_elsewhere_begins_where_it_was_asked_for() -> None:
    assert page(f"{in_doubt('a b')} c d e", 13, 3) == (13, 16)


@pytest.mark.parametrize("fmt", ["markdown", "text", "html"])
def test_every_format_can_be_read_page_by_page(fmt: str) -> None:
    body = Body(html=f"<p>before</p><details><summary>more</summary><p>{WORDS}</p></details>")
    text = render(body, fmt=fmt, keep_quoted=True).text  # type: ignore[arg-type]
    assert "word399" in text
    assert "word" not in "".join(map(unmarked, pages(text, 500)))


def test_each_line_of_preformatted_text_has_its_mark() -> None:
    html = "<details><summary>x</summary><pre>one\n  two\n\nthree</pre></details>"
    shown = render(Body(html=html), fmt="markdown", keep_quoted=True).text
    assert [line.strip() for line in shown.split("\n") if "[" in line][-3:] == [
        "[hidden? one]",
        "[hidden? two]",
        "[hidden? three]",
    ]
