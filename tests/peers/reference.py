"""What services publish about themselves: not part of this repository, and looked for beside it."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def reference(name: str) -> Path | None:
    """The nearest one; a worktree of the repository may lie some folders below the place beside it."""
    places = (folder / "shared" / "specs" / name for folder in _ROOT.parents)
    return next((place for place in places if place.is_file()), None)
