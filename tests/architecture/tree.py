"""The files of the project, as the architecture tests see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "postroom"
_FOLDERS = ("src", "tests", "docs", "bench", "requirements", "deploy", ".ci")


def python_files(folder: Path = SOURCE) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def written_files() -> Iterator[Path]:
    """Everything a person wrote: no caches, no environment, no build results."""
    yield from (path for path in ROOT.iterdir() if path.is_file())
    for folder in _FOLDERS:
        yield from (
            path
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and not {"__pycache__", "results"} & set(path.parts)
        )


def pages() -> list[Path]:
    """The documentation, README first."""
    return [
        *sorted(ROOT.glob("*.md"), key=lambda path: path.name != "README.md"),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
