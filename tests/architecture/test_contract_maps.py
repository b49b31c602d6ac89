"""Every dialect with a contract of its own has a map from each line to its test, and the map is true."""

from __future__ import annotations

import ast
import re

import pytest
from tests.architecture.tree import ROOT

MAPS = sorted((ROOT / "docs" / "contracts").glob("*.md"))


def named_tests(dialect: str) -> set[str]:
    files = (ROOT / "tests" / "dialects").glob(f"test_{dialect}*.py")
    trees = [ast.parse(file.read_text()) for file in files]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, functions)}


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_every_test_a_map_names_exists(path):
    named = set(re.findall(r"`(test_\w+)`", path.read_text()))
    assert named
    assert named <= named_tests(path.stem), named - named_tests(path.stem)


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_every_line_of_a_map_has_a_test(path):
    lines = [line for line in path.read_text().splitlines() if line.startswith("| ")]
    rows = [line for line in lines if not line.startswith("| the contract says")]
    assert rows
    assert [row for row in rows if "`test_" not in row.rsplit("|", 2)[1]] == []
