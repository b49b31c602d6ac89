"""fastmcp's client, which makes objects of the answers by each tool's output schema, in either era of the protocol."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.faults.http_process import http_process
from tests.flows.every_tool import RIGHT, WRONG
from tests.peers.python_clients import call_tools, fastmcp_python

CONFIG = "\n".join(
    f'[[accounts]]\nname = "{name}"\nprovider = "local"\naddress = "{name}@demo.example"\npath = "{name}.db"'
    for name in ("alex", "sam")
)


@pytest.fixture
def home(tmp_path: Path, mailbox_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "postroom").mkdir()
    (tmp_path / "postroom" / "postroom.toml").write_text(CONFIG)
    shutil.copy(mailbox_file, tmp_path / "alex.db")
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def assert_everything_was_understood(report: dict[str, Any]) -> None:
    right, wrong = report["answers"][: len(RIGHT)], report["answers"][len(RIGHT) :]
    assert [answer for answer in report["answers"] if "threw" in answer] == []
    assert [answer for answer in right if answer["isError"] or not answer["data"]] == []
    assert [answer for answer in wrong if answer.get("raised") != answer["text"]] == []
    assert all(answer["structured"]["error"]["message"] in answer["text"] for answer in wrong)
    assert {answer["tool"] for answer in right} == {answer["tool"] for answer in wrong} == set(report["tools"])


def test_every_answer_and_every_error_is_understood_over_stdio(home: Path) -> None:
    server = {"command": sys.executable, "args": ["-m", "postroom", "serve"], "env": dict(os.environ)}

    assert_everything_was_understood(call_tools("auto", [*RIGHT, *WRONG], **server))


def test_every_answer_and_every_error_is_understood_over_http_in_the_older_era(home: Path) -> None:
    fastmcp_python()
    with http_process(home) as served:
        report = call_tools("legacy", [*RIGHT, *WRONG], url=f"http://127.0.0.1:{served.port}/mcp")

    assert_everything_was_understood(report)
