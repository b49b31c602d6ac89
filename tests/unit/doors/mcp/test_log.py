from __future__ import annotations

import ast
import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import postroom
from postroom.doors.mcp import log


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    log.configure("info", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("postroom").setLevel(logging.NOTSET)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_with_the_event_and_the_allowed_fields(stream: io.StringIO) -> None:
    log.log.info("tool_call", extra={"tool": "read_email", "status": "ok", "duration_ms": 1.5})

    (line,) = lines(stream)
    assert line["event"] == "tool_call"
    assert (line["tool"], line["status"], line["duration_ms"]) == ("read_email", "ok", 1.5)


def test_a_line_can_be_words_for_people_with_the_same_fields_and_no_others(stream: io.StringIO) -> None:
    log.configure("info", stream, form="text")
    log.log.info("tool_call", extra={"tool": "read_email", "subject": "canary"})
    (line,) = stream.getvalue().splitlines()
    assert " info tool_call " in line
    assert "tool='read_email'" in line
    assert "canary" not in line


def test_a_field_outside_the_list_cannot_get_in(stream: io.StringIO) -> None:
    log.log.info("tool_call", extra={"tool": "read_email", "subject": "canary", "to": "canary@example.com"})

    assert "canary" not in stream.getvalue()


def test_a_field_that_is_not_a_plain_value_cannot_get_in(stream: io.StringIO) -> None:
    log.log.info("tool_call", extra={"tool": {"subject": "canary"}})

    assert "canary" not in stream.getvalue()


def test_words_of_other_libraries_are_dropped(stream: io.StringIO) -> None:
    logging.getLogger("some.library").warning("Invalid header: %s", "canary")
    logging.getLogger("postroom.other").warning("Subject was canary")

    assert "canary" not in stream.getvalue()
    assert [line["logger"] for line in lines(stream)] == ["some.library", "postroom.other"]
    assert {line["event"] for line in lines(stream)} == {"library_message"}
    assert all(str(line["place"]).startswith("test_log:") for line in lines(stream))


def test_every_event_that_is_logged_is_said_in_its_own_words() -> None:
    """Otherwise it would pass for a library's."""
    logged = {
        call.args[1 if call.func.attr == "log" else 0].value
        for path in Path(postroom.__file__).parent.rglob("*.py")
        if "getLogger" in (source := path.read_text(encoding="utf-8")) or "import log" in source
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in {"debug", "info", "warning", "error", "exception", "critical", "log"}
        and isinstance(call.args[1 if call.func.attr == "log" else 0], ast.Constant)
    }

    assert "tool_call" in logged
    assert logged <= log.EVENTS


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_at_a_terminal_sees_warnings_only_and_in_words(stream: io.StringIO) -> None:
    terminal = Terminal()
    log.configure(stream=terminal)
    log.log.info("tool_call", extra={"tool": "undo"})
    log.log.warning("client_gone", extra={"transport": "stdio"})
    (line,) = terminal.getvalue().splitlines()
    assert " warning client_gone " in line


def test_what_the_operator_set_holds_at_a_terminal_too(stream: io.StringIO) -> None:
    terminal = Terminal()
    log.configure("info", terminal, form="json")
    log.log.info("tool_call", extra={"tool": "undo"})
    assert json.loads(terminal.getvalue())["tool"] == "undo"


def test_elsewhere_every_call_is_a_line_of_json(stream: io.StringIO) -> None:
    log.configure(stream=stream)
    log.log.info("tool_call", extra={"tool": "undo"})
    assert lines(stream)[0]["tool"] == "undo"


def test_an_exception_leaves_its_type_and_no_trace(stream: io.StringIO) -> None:
    try:
        int("canary")
    except ValueError:
        log.log.exception("internal_error")

    (line,) = lines(stream)
    assert line["error_type"] == "ValueError"
    assert "canary" not in stream.getvalue()
    assert "Traceback" not in stream.getvalue()


def test_nothing_goes_to_stdout(capsys: pytest.CaptureFixture[str], stream: io.StringIO) -> None:
    log.configure("info", sys.stderr)
    log.log.info("tool_call", extra={"tool": "undo"})

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "tool_call" in captured.err
