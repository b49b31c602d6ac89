"""What works beside the calls is loaded in steps, none of which keeps a call waiting for long."""

from __future__ import annotations

import json
import subprocess
import sys

from postroom.wiring import WORKER_MODULES

LOADED = """
import json, sys
import postroom.doors.mcp.serve, postroom.wiring
from importlib import import_module
steps = []
for name in sys.argv[1:]:
    before = set(sys.modules)
    import_module(f"postroom.{name}")
    steps.append(len(set(sys.modules) - before))
print(json.dumps([steps, sorted(sys.modules)]))
"""


def loaded(*names: str) -> tuple[list[int], set[str]]:
    """How many modules each of them brought, and all that are there in the end."""
    ran = subprocess.run([sys.executable, "-c", LOADED, *names], capture_output=True, check=True)
    steps, modules = json.loads(ran.stdout)
    return steps, set(modules)


def test_the_steps_load_what_the_worker_needs_and_nothing_else() -> None:
    (whole,), needed = loaded("service.sending.worker")
    steps, modules = loaded(*WORKER_MODULES, "service.sending.worker")
    assert modules == needed
    assert sum(steps) == whole
    assert max(steps) < whole / 3
