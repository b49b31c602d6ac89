"""What the terminal shows: columns and progress."""

from __future__ import annotations

import io

from postroom.doors.cli import table
from postroom.doors.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table.lines([("a", "bb", "c"), ("aaa", "b", "ccc")]) == ["a    bb  c", "aaa  b   ccc"]


def test_wide_characters_count_twice() -> None:
    assert table.lines([("請求", "x"), ("abcd", "y")]) == ["請求  x", "abcd  y"]


def test_long_cells_are_cut_but_never_the_last() -> None:
    assert table.lines([("abcdefgh", "abcdefgh")], widest=4) == ["abc…  abcdefgh"]


def test_no_cell_can_steer_the_terminal() -> None:
    assert table.lines([("a\x1b[2K", "b\r\u202e")]) == ["a⟨U+001B⟩[2K  b⟨U+000D⟩⟨U+202E⟩"]


def test_no_rows_are_no_lines() -> None:
    assert table.lines([]) == []


def test_a_terminal_sees_a_bar_that_ends_in_a_new_line() -> None:
    stream = Terminal()
    progress = Progress("importing", stream)
    for done in range(201):
        progress(done, 200)
    progress.finish()
    frames = stream.getvalue().split("\r")[1:]
    assert len(frames) == 101  # one per per cent, not one per mail
    assert "[###############...............]  50 %" in frames[50]
    assert frames[-1].endswith("100 %\n")


def test_elsewhere_plain_percentages_come_now_and_then() -> None:
    stream = io.StringIO()
    progress = Progress("importing", stream)
    for done in range(201):
        progress(done, 200)
    progress.finish()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "importing: 0 %"
    assert lines[-1] == "importing: 100 %"
    assert len(lines) == 11


def test_an_unknown_total_is_counted_without_a_percentage() -> None:
    stream = Terminal()
    Progress("importing", stream)(7)
    assert stream.getvalue() == "\rimporting 7"
