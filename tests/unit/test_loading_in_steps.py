"""What works beside the calls is loaded in steps, none of which keeps a call waiting for long."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from postroom import wiring
from postroom.wiring import READING_MODULES, WORKER_MODULES

WORKER = "postroom.service.sending.worker"
LOADED = """
import json, sys
import postroom.doors.mcp.serve, postroom.wiring
from importlib import import_module
steps = []
for name in sys.argv[1:]:
    before = set(sys.modules)
    import_module(name)
    steps.append(len(set(sys.modules) - before))
print(json.dumps([steps, sorted(sys.modules)]))
"""


def loaded(*names: str) -> tuple[list[int], set[str]]:
    """How many modules each of them brought, and all that are there in the end."""
    ran = subprocess.run([sys.executable, "-c", LOADED, *names], capture_output=True, check=True)
    steps, modules = json.loads(ran.stdout)
    return steps, set(modules)


def test_the_steps_load_all_that_the_worker_needs() -> None:
    (whole,), needed = loaded(WORKER)
    steps, modules = loaded(*READING_MODULES, *WORKER_MODULES, WORKER)
    assert modules >= needed
    assert steps[-1] <= 1
    assert max(steps) < whole / 3


async def test_a_module_that_cannot_be_loaded_beforehand_ends_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def broken(name: str) -> None:
        asked.append(name)
        raise ImportError(name)

    monkeypatch.setattr(wiring, "import_module", broken)
    monkeypatch.setattr(wiring, "FIRST_BREATH", 0)
    monkeypatch.setattr(wiring, "BETWEEN_MODULES", 0)
    await wiring._prepare()
    assert asked == list(READING_MODULES)
