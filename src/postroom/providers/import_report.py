"""The result of importing a mail archive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

MOST_PROBLEMS = 20
Progress = Callable[[int, int], None]  # bytes of the archive done, bytes in all


@dataclass(frozen=True, slots=True)
class ImportReport:
    added: int = 0
    skipped_duplicates: int = 0
    failed: int = 0  # unreadable, empty or absurdly large
    folders: tuple[str, ...] = ()  # where messages were added
    problems: tuple[str, ...] = ()  # which of the archive failed and why: the first ones, a sentence each
