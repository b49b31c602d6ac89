"""A client that goes away over stdio, at whatever moment: the server ends, in order and without a trace of Python."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 120.0  # seconds; a loaded machine starts a process in ten
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
CONFIG = """
[[accounts]]
name = "alex"
provider = "local"
address = "alex@demo.example"
path = "alex.db"
"""


class Session:
    """`postroom serve` in a process of its own, with a hand on each of its pipes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "postroom.toml").write_text(CONFIG)
        with (home / "stderr.txt").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "postroom", "serve", "--config", str(home / "postroom.toml")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "POSTROOM_HOME": str(home)},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def say(self, method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        self.stdin.write(json.dumps(message).encode() + b"\n")
        self.stdin.flush()

    def greet(self) -> None:
        self.say("initialize", 1, **HELLO)
        assert b'"id":1' in self.stdout.readline()
        self.say("notifications/initialized")

    def close(self, *names: str) -> None:
        for name in names:
            getattr(self, name).close()

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        """The exit code, and the log: every line of stderr must be one of it."""
        code = self.process.wait(PATIENCE)
        return code, [json.loads(line) for line in (self.home / "stderr.txt").read_text().splitlines()]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path)
    yield session
    session.process.kill()
    session.process.wait()
    for pipe in (session.stdin, session.stdout):
        try:
            pipe.close()
        except BrokenPipeError:
            continue  # what was buffered for a server that ended


def nothing(session: Session) -> None:
    """Before a word is said."""


def greeting(session: Session) -> None:
    session.say("initialize", 1, **HELLO)


def call(session: Session) -> None:
    session.greet()
    session.say("tools/call", 2, name="create_draft", arguments={"to": "b@demo.example", "subject": "x", "body": "x"})


def large_answers(session: Session) -> None:
    """More than a pipe holds, and the first of them has begun."""
    session.greet()
    for number in range(2, 12):
        session.say("tools/list", number)
    session.stdout.read(10)


@pytest.mark.parametrize("moment", [nothing, greeting, call])
def test_a_client_that_closes_its_end_and_listens_on_gets_an_orderly_end(
    session: Session, moment: Callable[[Session], None]
) -> None:
    moment(session)
    session.close("stdin")
    code, log = session.end()
    assert code == 0
    assert [line for line in log if line["level"] != "info"] == []


@pytest.mark.parametrize("closed", [("stdout", "stdin"), ("stdin", "stdout"), ("stdout",)], ids="-".join)
@pytest.mark.parametrize("moment", [greeting, call, large_answers])
def test_a_client_that_stops_listening_ends_the_server_with_one_line(
    session: Session, moment: Callable[[Session], None], closed: tuple[str, ...]
) -> None:
    """Where stdin ended first there may be nothing left to say, and nobody missed an answer."""
    moment(session)
    session.close(*closed)
    code, log = session.end()
    complaints = [line["event"] for line in log if line["level"] != "info"]
    assert (code, complaints) in ([(1, ["client_gone"])] if closed == ("stdout",) else [(1, ["client_gone"]), (0, [])])


def test_a_client_that_writes_nonsense_and_does_not_read_ends_the_server_with_one_line(session: Session) -> None:
    session.close("stdout")
    with contextlib.suppress(BrokenPipeError):
        session.stdin.write(b"nonsense\n" * 20_000)
        session.stdin.flush()
    code, log = session.end()
    assert (code, [line["event"] for line in log if line["level"] != "info"]) == (1, ["client_gone"])


@pytest.mark.parametrize("ending", ["stdin", signal.SIGTERM], ids=str)
def test_what_was_asked_before_the_end_is_answered_however_slowly_the_client_reads(
    session: Session, ending: str | signal.Signals
) -> None:
    large_answers(session)  # the pipe is full: most of them cannot have been written
    if isinstance(ending, str):
        session.close(ending)
    else:
        session.process.send_signal(ending)
    first, *others = session.stdout.read().splitlines()
    assert first  # its beginning was read before
    assert len([json.loads(line)["result"]["tools"] for line in others]) == 9
    code, log = session.end()
    assert code == (0 if ending == "stdin" else -signal.SIGTERM)
    assert [line for line in log if line["level"] != "info"] == []


def test_requests_from_a_file_are_answered_to_the_last(tmp_path: Path) -> None:
    messages = [
        {"method": "initialize", "id": 1, "params": HELLO},
        {"method": "notifications/initialized"},
        {"method": "tools/call", "id": 2, "params": {"name": "list_emails", "arguments": {}}},
    ]
    requests = tmp_path / "requests"
    requests.write_text("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))
    (tmp_path / "postroom.toml").write_text(CONFIG)
    with requests.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "postroom", "serve", "--config", str(tmp_path / "postroom.toml")],
            stdin=file,
            capture_output=True,
            env={**os.environ, "POSTROOM_HOME": str(tmp_path)},
            timeout=PATIENCE,
            check=True,
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["results"] == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_server_that_is_started_without_standard_streams_ends_in_order(tmp_path: Path, closed: str) -> None:
    (tmp_path / "postroom.toml").write_text(CONFIG)
    command = f'exec "{sys.executable}" -m postroom serve --config "{tmp_path}/postroom.toml" {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "POSTROOM_HOME": str(tmp_path)},
    )

    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


def test_a_call_in_the_middle_of_which_the_client_left_is_done_whole_or_not_at_all(session: Session) -> None:
    call(session)
    session.close("stdout", "stdin")
    session.end()
    again = Session(session.home)
    again.greet()
    again.say("tools/call", 2, name="list_drafts", arguments={})
    drafts = json.loads(again.stdout.readline())["result"]["structuredContent"]["results"]
    again.close("stdin")
    assert again.end()[0] == 0
    again.stdout.close()
    assert [draft["subject"] for draft in drafts] in ([], ["x"])
