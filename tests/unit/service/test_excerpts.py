"""Of what is long, its beginning and its end: nothing cut in two, and what is left out is counted."""

from __future__ import annotations

import pytest

from postroom.service.sending.letter import MOST_HOSTS, WHOLE, as_lines, excerpt, first_hosts, joined

MARK = "⟨U+202E⟩"
HEAD = 1333  # two thirds of what is shown, and the rest is the end


def test_two_thousand_characters_are_shown_whole() -> None:
    assert WHOLE == 2000
    text = "x" * 2000
    assert excerpt(text) == (text, "")
    assert joined(text, *excerpt(text)) == text


def test_of_a_longer_text_two_thirds_are_its_beginning_and_one_its_end() -> None:
    text = "".join(f"{number:04d} " for number in range(500))
    assert excerpt(text) == (text[:HEAD], text[-(2000 - HEAD) :])


def test_the_characters_left_out_are_counted() -> None:
    text = "a" * HEAD + "b" * 100 + "c" * (2000 - HEAD)
    assert joined(text, *excerpt(text)) == f"{'a' * HEAD}\n⟨100 characters left out⟩\n{'c' * (2000 - HEAD)}"


@pytest.mark.parametrize("inside", range(1, len(MARK)))
def test_a_mark_that_the_beginning_would_cut_is_left_out_of_it(inside: int) -> None:
    text = "a" * (HEAD - inside) + MARK + "b" * 3000
    assert excerpt(text)[0] == "a" * (HEAD - inside)


@pytest.mark.parametrize("inside", range(1, len(MARK)))
def test_a_mark_that_the_end_would_cut_is_left_out_of_it(inside: int) -> None:
    rest = 2000 - HEAD - inside
    text = "a" * 3000 + MARK + "b" * rest
    assert excerpt(text)[1] == "b" * rest


def test_whole_marks_at_the_seams_stay() -> None:
    head, tail = "a" * (HEAD - len(MARK)) + MARK, MARK + "b" * (2000 - HEAD - len(MARK))
    assert excerpt(head + "x" * 100 + tail) == (head, tail)
    head, tail = MARK + "a" * (HEAD - len(MARK)), "b" * (2000 - HEAD - len(MARK)) + MARK
    assert excerpt(head + "x" * 100 + tail) == (head, tail)


def test_twenty_hosts_are_named_and_the_rest_is_counted() -> None:
    hosts = tuple(f"h{number}.example" for number in range(22))
    assert MOST_HOSTS == 20
    assert first_hosts(hosts[:20]) == hosts[:20]
    assert first_hosts(hosts[:21]) == (*hosts[:20], "and 1 more")
    assert first_hosts(hosts) == (*hosts[:20], "and 2 more")


def test_one_value_stands_beside_its_name_and_several_below_it() -> None:
    rows = [("From", ("alice",)), ("To", ("bob", "carol"))]
    assert as_lines(rows) == ["From: alice", "To:", "  bob", "  carol"]
