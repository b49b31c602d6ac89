"""The MCP client of another maker for Python, as `.ci/peers` fetches it, and one program that calls tools with it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.peers.daemon import require

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".peers" / "python" / "bin" / "python"
PROGRAM = Path(__file__).parent / "python" / "call_tools.py"
PATIENCE = 120.0  # seconds


def fastmcp_python() -> str:
    """The Python that has fastmcp, or a skip (under CI a failure) with the reason."""
    if not PYTHON.exists():
        require("the packages of requirements/clients.txt are not fetched; run make peers")
    return str(PYTHON)


def call_tools(mode: str, calls: list[dict[str, Any]], **where: Any) -> dict[str, Any]:
    """What fastmcp's client saw: ``tools`` by name, and ``answers`` in the order of `calls`.

    `where` is ``url`` or ``command``, ``args`` and ``env``.
    """
    plan = json.dumps({"mode": mode, "calls": calls, **where})
    done = subprocess.run(
        [fastmcp_python(), str(PROGRAM)], input=plan, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report
