"""The matrix is whole, and the page about it is its own table.

After a wanted change: ``UPDATE_SNAPSHOTS=1 pytest tests/matrix/test_table.py``, then read the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from postroom.doors.mcp.server import dialect_names
from postroom.providers.registry import MAILBOXES

from .adapters import ADAPTERS
from .table import LACKS, render

PAGE = Path(__file__).resolve().parents[2] / "docs" / "dialects.md"


def test_every_dialect_and_every_provider_is_in_the_matrix() -> None:
    assert set(ADAPTERS) == set(dialect_names()), "tests/matrix/adapters.py says how a dialect tells the story"
    assert set(LACKS) == set(MAILBOXES)


def test_the_page_shows_what_the_matrix_has_proven() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.sub(r"(?m)^\| dialect \|(?:.*\n\|)+.*$", lambda _: render(), text, count=1)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        PAGE.write_text(shown, encoding="utf-8")

    assert render() in shown, "the page has lost its table"
    assert PAGE.read_text(encoding="utf-8") == shown
