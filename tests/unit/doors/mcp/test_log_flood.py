"""A flood of one kind of line is cut and counted; nothing else is."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from postroom.doors.mcp import log, log_flood
from postroom.doors.mcp.log_flood import MAX_KINDS, OTHERS_A_MINUTE, WARNINGS_A_MINUTE, FloodHandler


class Kit:
    """A handler with a clock in the test's hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.handler = FloodHandler(
            self.stream, log.EVENTS, clock=lambda: self.now, later=lambda *timer: self.timers.append(timer)
        )
        self.handler.setFormatter(log.AllowListFormatter("json"))

    def say(self, event: str, times: int = 1, *, level: int = logging.WARNING, line: int = 1, **fields: Any) -> None:
        for _ in range(times):
            record = logging.LogRecord("postroom.mcp", level, "", line, event, None, None)
            vars(record).update(fields)
            self.handler.handle(record)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


def test_a_flood_is_cut_and_its_count_said_when_the_minute_is_over() -> None:
    kit = Kit()
    kit.say("connection_refused", 5000)
    assert len(kit.lines()) == WARNINGS_A_MINUTE
    ((seconds, tick),) = kit.timers
    kit.now += seconds
    tick()
    *_, last = kit.lines()
    assert (last["event"], last["level"], last["logger"]) == ("connection_refused", "warning", "postroom.mcp")
    assert last["suppressed"] == 5000 - WARNINGS_A_MINUTE
    tick()
    assert len(kit.lines()) == WARNINGS_A_MINUTE + 1


def test_other_kinds_of_line_are_said_in_the_middle_of_a_flood() -> None:
    kit = Kit()
    kit.say("connection_refused", 500)
    kit.say("internal_error", level=logging.ERROR, error_type="KeyError")
    kit.say("connection_refused", level=logging.ERROR)
    kit.say("connection_refused", 500)
    assert [line["level"] for line in kit.lines()].count("error") == 2


def test_the_next_line_after_the_minute_says_the_count_where_no_timer_could() -> None:
    kit = Kit()
    kit.say("somebody's words", 100, line=7)
    kit.now += 61
    kit.say("tool_call", level=logging.INFO)
    assert [line.get("suppressed") for line in kit.lines()[-2:]] == [100 - WARNINGS_A_MINUTE, None]
    assert kit.lines()[-2]["event"] == "library_message"
    assert kit.lines()[-2]["place"].endswith(":7")
    assert "words" not in kit.stream.getvalue()


def test_the_end_of_the_process_says_the_count() -> None:
    kit = Kit()
    kit.say("connection_refused", 100)
    kit.handler.close()
    assert kit.lines()[-1]["suppressed"] == 100 - WARNINGS_A_MINUTE


def test_calls_at_an_ordinary_rate_are_all_said() -> None:
    kit = Kit()
    for _ in range(30):
        kit.say("tool_call", 300, level=logging.INFO)
        kit.now += 20
    assert len(kit.lines()) == 9000
    assert not any("suppressed" in line for line in kit.lines())
    assert not kit.timers


def test_a_new_minute_has_room_again_and_no_line_is_unaccounted_for() -> None:
    kit = Kit()
    for _ in range(5):
        kit.say("tool_call", 2 * OTHERS_A_MINUTE, level=logging.INFO)
        kit.now += 60
    kit.handler.close()
    lines = kit.lines()
    assert sum(line.get("suppressed", 1) for line in lines) == 10 * OTHERS_A_MINUTE
    assert len(lines) == 5 * (OTHERS_A_MINUTE + 1)


def test_what_is_remembered_is_bounded_and_still_counted() -> None:
    kit = Kit()
    kit.say("connection_refused", 100)
    for line in range(3 * MAX_KINDS):
        kit.say("", line=line)
    assert len(kit.handler._windows) == MAX_KINDS
    assert [line["suppressed"] for line in kit.lines() if "suppressed" in line] == [100 - WARNINGS_A_MINUTE]


def test_a_timer_of_its_own_ends_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_flood, "MINUTE", 0.01)
    said = threading.Event()

    class Watched(io.StringIO):
        def write(self, text: str) -> int:
            if "suppressed" in text:
                said.set()
            return super().write(text)

    handler = FloodHandler(Watched(), log.EVENTS)
    handler.setFormatter(log.AllowListFormatter("json"))
    with handler._lock_held():  # so that the minute is not over before the flood is
        monkeypatch.setattr(handler, "_clock", lambda: 0.0)
        for _ in range(100):
            handler.handle(logging.LogRecord("postroom.mcp", logging.WARNING, "", 1, "connection_refused", None, None))
        monkeypatch.setattr(handler, "_clock", lambda: 1.0)
    assert said.wait(30)
    handler.close()
