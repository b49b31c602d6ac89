"""What is said below the doors names a tool only in advice that a dialect without the tool can leave out.

That is a sentence of its own, ``Call create_draft to write a draft.``: `advice_within` takes it out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.tree import SOURCE, python_files, shown

from postroom.doors.mcp.dialects import postroom
from postroom.doors.mcp.failures import advice_within

ROOMS = ("providers", "safety", "service", "store", "sync", "index", "mime")
TOOLS = sorted(spec.name for toolset in postroom.TOOLSETS for spec in toolset.specs)
NAMED = re.compile(rf"\b(?:{'|'.join(name for name in TOOLS if '_' in name)}|undo)\b")

# Reached only by tools that no dialect but the default one has, or by the command line.
DEFAULT_ONLY = {
    "service/ids/handles.py",
    "service/organising/organise.py",
    "service/rules/running.py",
    "service/rules/server_side.py",
    "store/handles.py",
    "store/journal.py",
    "store/plans.py",
    "mime/documents/reading.py",
}
# The only dialect besides that gets there has the tool.
HAS_THE_TOOL = {"service/writing/wholeness.py"}


def said_in(path: Path) -> Iterator[str]:
    """Texts of several words, f-strings with their holes filled; no documentation."""
    tree = ast.parse(path.read_text())
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within | notes:
            yield node.value


@pytest.mark.parametrize("room", ROOMS)
def test_a_tool_is_named_only_in_advice_that_can_be_left_out(room: str) -> None:
    found = {
        (shown(path), text)
        for path in python_files(SOURCE / room)
        if path.relative_to(SOURCE).as_posix() not in DEFAULT_ONLY | HAS_THE_TOOL
        for text in said_in(path)
        if " " in text.strip() and NAMED.search(advice_within(text))
    }
    assert not found
