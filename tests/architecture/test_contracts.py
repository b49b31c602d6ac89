"""The import contracts of pyproject.toml hold, cover every room, and each would catch what it forbids."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from .tree import ROOT, SOURCE

VIOLATIONS = {
    "Packages import only downwards": ("mime/__init__.py", "import postroom.settings.paths"),
    "Packages of service import only downwards": (
        "service/reading/search.py",
        "import postroom.service.sending.order",
    ),
    "Packages of mime import only downwards": ("mime/read/parse.py", "import postroom.mime.render"),
    "Packages of the IMAP provider import only downwards": (
        "providers/imap/session/wire.py",
        "import postroom.providers.imap.folders.roles",
    ),
    "Packages of the Gmail provider import only downwards": (
        "providers/gmail/session/wire.py",
        "import postroom.providers.gmail.mail.labels",
    ),
    "Packages of the Graph provider import only downwards": (
        "providers/graph/session/wire.py",
        "import postroom.providers.graph.mail.convert",
    ),
    "Packages of the mirror import only downwards": (
        "sync/tables/changing.py",
        "import postroom.sync.following.reading",
    ),
    "Packages of store import only downwards": ("store/handles.py", "import postroom.store.sends.outbox"),
    "Providers do not know each other": ("providers/local/__init__.py", "import postroom.providers.imap"),
    "What providers share is layered": ("providers/http/__init__.py", "import postroom.providers.oauth"),
    "Only the registry names a concrete provider": ("service/reading/search.py", "import postroom.providers.local"),
    "Querying knows no provider": ("providers/querying/bounds.py", "import postroom.providers.registry"),
    "Doors do not reach past the service": ("doors/cli/table.py", "import postroom.store"),
    "Doors do not know each other": ("doors/cli/serve.py", "import postroom.doors.mcp"),
    "Model and safety do no I/O": ("model/ids.py", "import sqlite3"),
    "An agent cannot approve its own send": (
        "doors/mcp/server.py",
        "import postroom.service.sending.approval.approvals",
    ),
}


# Packages beside the providers, for all of them.
SHARED = ("layers", "discovery", "querying", "http", "credentials", "oauth")


def contracts() -> dict[str, dict[str, Any]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["name"]: contract for contract in config["tool"]["importlinter"]["contracts"]}


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which finds the package below `root` before the installed one."""
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def packages(folder: str) -> set[str]:
    return {
        f"postroom.{folder.replace('/', '.')}.{path.parent.name}" for path in (SOURCE / folder).glob("*/__init__.py")
    }


def test_every_contract_is_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_contract_catches_what_it_forbids(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "src" / "postroom", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in contracts():
        file, line = VIOLATIONS[name]
        path = tmp_path / "src" / "postroom" / file
        path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode == 1, done.stderr
    broken = {name for name in contracts() if f"{name} BROKEN" in done.stdout}
    assert broken == set(contracts()), done.stdout


def test_a_stray_module_beside_the_rooms_breaks_the_build(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "src" / "postroom", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "postroom" / "utils.py").write_text("")
    assert lint(tmp_path).returncode != 0


def test_every_provider_is_under_contract() -> None:
    providers = packages("providers") - {f"postroom.providers.{shared}" for shared in SHARED}
    assert set(contracts()["Providers do not know each other"]["modules"]) == providers
    assert set(contracts()["Only the registry names a concrete provider"]["protected_modules"]) == providers
    assert set(contracts()["Querying knows no provider"]["forbidden_modules"]) >= providers


def test_every_door_is_under_contract() -> None:
    assert set(contracts()["Doors do not know each other"]["modules"]) == packages("doors")


@pytest.mark.parametrize("room", ["providers", "safety", "store", "index", "sync"])
def test_doors_are_kept_from_every_room_below_the_service(room: str) -> None:
    forbidden = set(contracts()["Doors do not reach past the service"]["forbidden_modules"])
    assert (f"postroom.{room}" in forbidden) == (SOURCE / room).exists()


def test_only_the_command_line_and_the_wiring_reach_approvals() -> None:
    contract = contracts()["An agent cannot approve its own send"]
    within = {"postroom.service.sending.approval.approvals", "postroom.service.sending.worker"}
    assert set(contract["protected_modules"]) == within
    assert set(contract["allowed_importers"]) - within == {"postroom.doors.cli", "postroom.wiring"}
