"""Installed as people install it: from the wheel, into an environment of its own, far from the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from tests.flows.served import Served

from postroom import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment. What Postroom depends on is borrowed from the one the tests run in."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which nothing of the repository is to be found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def run(program: Path, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_package_and_none_besides(wheel: Path) -> None:
    source = ROOT / "src"
    written = {
        path.relative_to(source).as_posix()
        for path in (source / "postroom").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == written
    assert "postroom/py.typed" in packed


def test_the_command_runs_from_the_wheel_alone(installed: Path, away: Path) -> None:
    where = run(installed / "python", "-c", "import postroom; print(postroom.__file__)")
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert run(installed / "postroom", "--version").strip() == f"postroom {__version__}"


def test_mail_is_searched_and_read_from_the_wheel_alone(installed: Path, away: Path) -> None:
    found = run(installed / "postroom", "search", "in:inbox", "--limit", "1").splitlines()[1]
    assert run(installed / "postroom", "read", re.split(r"\s+", found)[0]).startswith("# ")


@pytest.mark.parametrize(("dialect", "tool"), [("postroom", "send_email"), ("drafts", "create_draft")])
def test_an_mcp_client_is_served_from_the_wheel_alone(installed: Path, away: Path, dialect: str, tool: str) -> None:
    (away / "home").mkdir()
    config = '[[accounts]]\nname = "work"\nprovider = "local"\naddress = "a@example.com"\n'
    served = Served(away / "home", f'{config}[server]\ndialect = "{dialect}"\n', python=installed / "python")
    tools = served.ask("tools/list")["result"]["tools"]
    served.end()
    assert tool in {one["name"] for one in tools}
