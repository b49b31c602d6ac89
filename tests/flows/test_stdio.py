"""The server as a client starts it: a process whose stdout speaks JSON-RPC and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.settings import Settings

CANARY = "zyxcanary"
CONFIG = """
[[accounts]]
name = "alex"
provider = "local"
address = "alex@demo.example"
path = "alex.db"
"""
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


class Served:
    """`postroom serve` in a process of its own; every line of its stdout must parse."""

    def __init__(self, home: Path) -> None:
        (home / "postroom.toml").write_text(CONFIG)
        self._log = home / "stderr.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "postroom", "serve", "--config", str(home / "postroom.toml")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "POSTROOM_HOME": str(home)},
            )
        self._last = 0
        self.ask("initialize", **HELLO)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message: Any) -> None:
        assert self._process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        self.say({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            assert answer["jsonrpc"] == "2.0"
            if answer.get("id") == self._last:
                return answer
        raise AssertionError(f"no answer: {self._log.read_text()}")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        return result

    def end(self) -> list[dict[str, Any]]:
        """Close stdin, see it leave in peace with nothing more to say, and answer with its log."""
        rest, _ = self._process.communicate(timeout=30)
        assert rest == b""
        assert self._process.returncode == 0
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@pytest.fixture
def served(filled: Settings) -> Iterator[Served]:
    served = Served(filled.home)
    yield served
    served.end()


def test_a_session_over_stdio_lists_and_calls(served: Served) -> None:
    tools = served.ask("tools/list")["result"]["tools"]

    assert "list_emails" in {tool["name"] for tool in tools}
    assert served.call("list_emails", limit=2)["structuredContent"]["total_count"] == 25


def test_broken_input_does_not_end_the_session(served: Served) -> None:
    for line in (b"{not json", b"", b"[1, 2]", b"\xff\xfe", b'{"jsonrpc":"2.0","id":null,"method":7}'):
        served.say(line)

    assert served.ask("tools/list")["result"]["tools"]


def test_every_call_is_one_log_line_and_none_of_its_words_get_in(filled: Settings) -> None:
    served = Served(filled.home)
    served.call("search_emails", query=CANARY)
    served.call("create_draft", to=f"{CANARY}@example.com", subject=CANARY, body=CANARY)
    served.call("read_email", email_id=CANARY)
    served.call(CANARY, **{CANARY: CANARY})
    served.call("list_emails", limit=CANARY)
    served.ask(CANARY, value=CANARY)

    logged = served.end()

    calls = [(line["tool"], line["status"]) for line in logged if line["event"] == "tool_call"]
    assert calls == [
        ("search_emails", "ok"),
        ("create_draft", "ok"),
        ("read_email", "error"),
        ("unknown", "error"),
        ("list_emails", "error"),
    ]
    assert CANARY not in str(logged)
