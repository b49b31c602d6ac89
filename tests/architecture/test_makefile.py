"""What make would do, without doing it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def planned(checkout: Path) -> str:
    return subprocess.run(
        ["make", "--dry-run", "run"], cwd=checkout, capture_output=True, text=True, check=True, timeout=30
    ).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With an installation that is newer than what it was made from."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "run.txt").touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.touch(mode=0o755)
    (tmp_path / ".venv" / ".run").write_text(f"{tmp_path}\n")
    return tmp_path


def test_a_second_start_installs_nothing(checkout: Path) -> None:
    assert "pip" not in planned(checkout)


def test_a_folder_that_was_moved_is_installed_anew(checkout: Path) -> None:
    moved = checkout.rename(checkout.with_name("moved"))
    assert "-m venv --clear .venv" in planned(moved)
    assert " install " in planned(moved)


def test_an_installation_whose_python_is_gone_is_made_anew(checkout: Path) -> None:
    python = checkout / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert "-m venv --clear .venv" in planned(checkout)
