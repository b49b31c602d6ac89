"""MCP clients that run on Node, as `.ci/peers` fetches them, and one program that calls tools with them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.peers.daemon import require

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".peers" / "node"
PROGRAM = Path(__file__).parent / "node" / "call_tools.mjs"
INSPECTOR = PACKAGES / "node_modules/@modelcontextprotocol/inspector-cli/build/cli.js"
OLDEST_NODE = {1: 18, 2: 20}  # of each major version of the TypeScript SDK
PATIENCE = 120.0  # seconds


def node_for(sdk: int) -> str:
    """The program `node`, or a skip (under CI a failure) with the reason."""
    node = shutil.which("node")
    if node is None:
        require("node not installed")
    elif not (PACKAGES / "node_modules").is_dir():
        require("the packages of tests/peers/node are not fetched; run make peers")
    major = int(_run([str(node), "--version"]).removeprefix("v").partition(".")[0])
    if major < OLDEST_NODE[sdk]:
        pytest.skip(f"version {sdk} of the TypeScript SDK needs Node {OLDEST_NODE[sdk]}, here is {major}")
    return str(node)


def call_tools(sdk: int, calls: list[dict[str, Any]], **where: Any) -> dict[str, Any]:
    """What a client of that SDK saw: ``tools`` by name, and ``answers`` in the order of `calls`.

    `where` is ``url`` or ``command``, ``args`` and ``env``.
    """
    plan = {"packages": str(PACKAGES), "sdk": sdk, "calls": calls, **where}
    report: dict[str, Any] = json.loads(_run([node_for(sdk), str(PROGRAM)], json.dumps(plan)))
    return report


def inspect(*arguments: str, env: dict[str, str]) -> dict[str, Any]:
    """What `mcp-inspector --cli` prints. It finds its own package only from its own folder."""
    command = [node_for(1), str(INSPECTOR), "--cli", *arguments]
    shown: dict[str, Any] = json.loads(_run(command, env=env, cwd=INSPECTOR.parent))
    return shown


def _run(command: list[str], text: str = "", **where: Any) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False, **where)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
