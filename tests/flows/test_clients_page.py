"""docs/clients.md is true: its snippets are what clients read, and its programs run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from tests.faults.http_process import http_process
from tests.peers.node_clients import PACKAGES, node_for

from postroom.__main__ import main
from postroom.doors.cli.main import build_parser

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
TOKEN = "a-token-for-this-test"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("snippet", blocks("json"))
def test_every_snippet_is_json_that_starts_or_names_a_server(snippet: str) -> None:
    (servers,) = json.loads(snippet).values()
    server = servers["mail"]
    if "command" in server:
        assert server["command"] == "postroom"
        assert build_parser(lambda *args, **kwargs: None).parse_args(server["args"]).run
    else:
        assert server["url"].endswith("/mcp")
        assert server["headers"]["Authorization"].startswith("Bearer ")


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_programs_of_the_page_list_the_mail_of_a_server_that_asks_for_a_token(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = {"python": [sys.executable], "js": [node_for(2)] if language == "js" else []}[language]
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MCP_TOKENS", TOKEN)
    monkeypatch.setenv("POSTROOM_SERVER__TOKENS_ENV", "MCP_TOKENS")
    assert main(["search", "is:unread", "--json"]) == 0
    unread = [row["email_id"] for row in json.loads(capsys.readouterr().out)["results"]]
    (source,) = blocks(language)
    folder = PACKAGES if language == "js" else tmp_path  # where node finds the package
    file = folder / f"example-{uuid.uuid4().hex}.{'mjs' if language == 'js' else 'py'}"
    with http_process(tmp_path) as served:
        file.write_text(source.replace("TOKEN", TOKEN).replace("127.0.0.1:8090", f"127.0.0.1:{served.port}"))
        try:
            done = subprocess.run([*program, file], capture_output=True, text=True, check=False, env=dict(os.environ))
        finally:
            file.unlink()

    assert done.returncode == 0, done.stderr
    assert [line.split(" ")[0] for line in done.stdout.splitlines()] == unread
    assert unread
