"""What the terminal shows: columns and progress."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from postroom.doors.cli import table
from postroom.doors.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


HEADER = ("ID", "FROM", "SUBJECT")


def test_columns_stand_below_a_header_and_are_as_wide_as_their_widest_cell() -> None:
    assert table.lines(("A", "B", "C"), [("a", "bb", "c"), ("aaa", "b", "ccc")]) == [
        "A    B   C",
        "a    bb  c",
        "aaa  b   ccc",
    ]


def test_wide_characters_count_twice() -> None:
    assert table.lines(("A", "B"), [("請求", "x"), ("abcd", "y")]) == ["A     B", "請求  x", "abcd  y"]


@pytest.mark.parametrize("subject", ["very " * 40, "請求書" * 40, "e\u0301" * 200])
def test_a_line_fits_the_terminal_and_keeps_the_id_whole(subject: str) -> None:
    email_id = "m0123456789abcdef"
    lines = table.lines(HEADER, [(email_id, "Somebody With A Long Name <somebody@example.com>", subject)], width=80)
    assert all(table.display_width(line) <= 80 for line in lines)
    assert lines[1].startswith(f"{email_id}  Somebody")
    assert "…" in lines[1]


def test_a_time_with_its_own_offset_is_not_cut() -> None:
    row = ("m0123456789", "2026-10-24 09:00+02:00", "Somebody <somebody@example.com>", "word " * 20)
    lines = table.lines(("ID", "DATE", "FROM", "SUBJECT"), [row], width=80, kept_whole=2)
    assert lines[1].startswith("m0123456789  2026-10-24 09:00+02:00  Somebody")
    assert all(len(line) <= 80 for line in lines)


def test_what_fits_is_not_cut() -> None:
    assert table.lines(HEADER, [("m1", "a" * 30, "b" * 44)], width=80)[1].count("…") == 0


def test_a_terminal_too_narrow_for_anything_keeps_the_ids() -> None:
    assert table.lines(HEADER, [("m0123456789", "somebody", "something")], width=10)[1].startswith("m0123456789  ")


def test_a_pipe_gets_every_cell_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert table.lines(HEADER, [("m1", "a" * 500, "b" * 500)])[1].endswith("b" * 500)


def test_a_terminal_is_asked_how_wide_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, table.lines(HEADER, [("m1", "a" * 500, "b" * 500)]))) == 60


def test_no_cell_can_steer_the_terminal() -> None:
    assert table.lines(("A", "B"), [("a\x1b[2K", "b\r\u202e")])[1] == "a⟨U+001B⟩[2K  b⟨U+000D⟩⟨U+202E⟩"


def test_no_rows_are_no_lines() -> None:
    assert table.lines(HEADER, []) == []


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


NOISY = """
import logging
import postroom.service.reading.{module} as service
from postroom.__main__ import main
real = service.{verb}
async def noisy(*args, **kwargs):
    logging.getLogger("some.library").error("canary words of a stranger")
    logging.getLogger("postroom.service").error("audit_failed", extra={{"code": "x"}})
    return await real(*args, **kwargs)
service.{verb} = noisy
main({argv})
"""


@pytest.mark.parametrize(
    ("module", "verb", "argv"),
    [("search", "search_emails", ["search", "in:inbox"]), ("read", "read_email", ["doctor"])],
)
def test_a_command_shows_what_postroom_warns_of_and_no_words_of_libraries(
    tmp_path: Path, module: str, verb: str, argv: list[str]
) -> None:
    home = {"POSTROOM_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    code = NOISY.format(module=module, verb=verb, argv=argv)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **home}
    )
    assert set(done.stderr.splitlines()) == {"postroom: audit_failed"}
    assert "canary" not in done.stdout


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_terminal_that_lacks_a_script_is_shown_the_rest(tmp_path: Path, flags: list[str]) -> None:
    home = {"POSTROOM_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "postroom", "search", "from:tanaka", "--limit", "1", *flags]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, **home})
    shown = done.stdout.decode("latin-1")
    assert "tanaka.yuki@hoshizora.example" in shown
    assert "\\u7530\\u4e2d" in shown
    assert not flags or json.loads(shown)["results"][0]["from"].startswith("田中")


@pytest.mark.parametrize("columns", [1, 24, 40, 200])
def test_a_bar_stays_within_one_line_of_a_narrow_terminal(columns: int) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 10, columns, 0, 0))
    with open(theirs, "w") as stream:
        Progress("syncing work", stream)(50, 100)
        shown = os.read(ours, 1000).decode().strip("\r")
    os.close(ours)
    assert len(shown) <= max(columns - 1, len("syncing work [] 100 %"))
