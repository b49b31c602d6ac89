"""The clients that people have: the TypeScript SDK in both its major versions, and the inspector's command line.

They check each answer against the tool's output schema and throw away what does not fit, errors too.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faults.http_process import http_process
from tests.flows.every_tool import RIGHT, WRONG
from tests.peers.node_clients import call_tools, inspect, node_for

SDKS = (1, 2)
CONFIG = """
[[accounts]]
name = "alex"
provider = "local"
address = "alex@demo.example"
path = "alex.db"

[[accounts]]
name = "sam"
provider = "local"
address = "sam@demo.example"
path = "sam.db"
"""
DRAFTS_RIGHT: list[dict[str, Any]] = [
    {"tool": "list_folders", "arguments": {}},
    {"tool": "list_emails", "arguments": {}, "keep": {"mail": "results.0.uid"}},
    {"tool": "search_emails", "arguments": {"query": "from:billing"}},
    {"tool": "read_email", "arguments": {"uid": "$mail"}},
    {
        "tool": "create_draft",
        "arguments": {"to": "sam@demo.example", "subject": "a", "body": "b"},
        "keep": {"d": "uid"},
    },
    {"tool": "update_draft", "arguments": {"uid": "$d", "to": "sam@demo.example", "subject": "a", "body": "c"}},
    {"tool": "draft_reply", "arguments": {"uid": "$mail", "body": "b"}},
]
DRAFTS_WRONG: list[dict[str, Any]] = [
    {"tool": "list_folders", "arguments": {"folder": "x"}},
    {"tool": "list_emails", "arguments": {"folder": "nowhere"}},
    {"tool": "search_emails", "arguments": {"query": "from:"}},
    {"tool": "read_email", "arguments": {"uid": 99_999}},
    {"tool": "create_draft", "arguments": {"to": "nobody"}},
    {"tool": "update_draft", "arguments": {"uid": 99_999, "to": "sam@demo.example", "subject": "a", "body": "c"}},
    {"tool": "draft_reply", "arguments": {"uid": 99_999, "body": "b"}},
]


@pytest.fixture
def home(tmp_path: Path, mailbox_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "postroom").mkdir()
    (tmp_path / "postroom" / "postroom.toml").write_text(CONFIG)
    shutil.copy(mailbox_file, tmp_path / "alex.db")
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def own_process(*flags: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-m", "postroom", "serve", *flags], "env": dict(os.environ)}


def assert_every_answer_arrived(report: dict[str, Any], right: int) -> None:
    """The first `right` calls were answered, all others refused, and the client could take every answer."""
    answers = report["answers"]
    assert [answer for answer in answers if "threw" in answer] == []
    assert [answer for answer in answers[:right] if answer["isError"]] == []
    assert [answer for answer in answers[right:] if not answer["isError"]] == []
    assert {answer["tool"] for answer in answers[:right]} == set(report["tools"])
    assert {answer["tool"] for answer in answers[right:]} == set(report["tools"])


def assert_every_error_is_whole(report: dict[str, Any], right: int) -> None:
    for answer in report["answers"][right:]:
        error = answer["structured"]["error"]
        assert error["code"], answer
        assert error["message"] in answer["text"], answer


@pytest.mark.parametrize("sdk", SDKS)
def test_a_typescript_client_takes_every_answer_and_every_error_over_stdio(home: Path, sdk: int) -> None:
    report = call_tools(sdk, [*RIGHT, *WRONG], **own_process())

    assert_every_answer_arrived(report, len(RIGHT))
    assert_every_error_is_whole(report, len(RIGHT))


@pytest.mark.parametrize("sdk", SDKS)
def test_a_typescript_client_takes_every_answer_and_every_error_over_http(home: Path, sdk: int) -> None:
    node_for(sdk)
    with http_process(home) as served:
        report = call_tools(sdk, [*RIGHT, *WRONG], url=f"http://127.0.0.1:{served.port}/mcp")

    assert_every_answer_arrived(report, len(RIGHT))
    assert_every_error_is_whole(report, len(RIGHT))


@pytest.mark.parametrize("sdk", SDKS)
def test_a_typescript_client_takes_every_answer_and_every_error_of_the_drafts_dialect(home: Path, sdk: int) -> None:
    report = call_tools(sdk, [*DRAFTS_RIGHT, *DRAFTS_WRONG], **own_process("--dialect", "drafts"))

    assert_every_answer_arrived(report, len(DRAFTS_RIGHT))
    assert all(answer["text"] for answer in report["answers"])


def test_the_inspector_shows_an_error_with_its_code_and_message(home: Path) -> None:
    server = [sys.executable, "-m", "postroom", "serve"]
    call = ["--method", "tools/call", "--tool-name", "read_email", "--tool-arg", "email_id=m-none"]

    shown = inspect(*server, *call, env=dict(os.environ))

    assert shown["isError"]
    assert shown["structuredContent"]["error"]["code"]
    assert shown["structuredContent"]["error"]["message"]
