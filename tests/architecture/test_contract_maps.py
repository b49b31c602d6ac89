"""Every dialect with a contract of its own has a map from each line to its test, and the map is true."""

from __future__ import annotations

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest
from tests.architecture.tree import ROOT

from postroom.doors.mcp import dialects

MAPS = sorted((ROOT / "docs" / "contracts").glob("*.md"))
OWN = {"postroom"}  # its contract is docs/tools.md and the schemas beside these tests
_SENTENCE = re.compile(r'"([A-Z\[][^"]{10,})"')
_OPEN = re.compile(r"\{\w+\}|…|\.\.\.|\\\|")  # what a sentence leaves to be filled in

each_map = pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def known_tests() -> frozenset[str]:
    """Most lines are tested by the dialect; what the gate or a provider decides, beside that."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    files = (ROOT / "tests").rglob("test_*.py")
    return frozenset(node.name for file in files for node in tree_of(file).body if isinstance(node, functions))


def texts_of(dialect: str) -> str:
    """Every text that the dialect's tests contain."""
    trees = [tree_of(file) for file in (ROOT / "tests" / "dialects").glob(f"*{dialect}*.py")]
    nodes = (node for tree in trees for node in ast.walk(tree))
    return "\n".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def rows_of(path: Path) -> list[str]:
    lines = [line for line in path.read_text().splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith("| the contract says")]


def test_every_dialect_has_a_map() -> None:
    assert {path.stem for path in MAPS} == {module.name for module in pkgutil.iter_modules(dialects.__path__)} - OWN


@each_map
def test_every_test_a_map_names_exists(path: Path) -> None:
    named = set(re.findall(r"`(test_\w+)`", path.read_text()))
    assert named
    assert named <= known_tests(), named - known_tests()


@each_map
def test_every_line_of_a_map_has_a_test(path: Path) -> None:
    rows = rows_of(path)
    assert rows
    assert [row for row in rows if "`test_" not in row.rsplit("|", 2)[1]] == []


@each_map
def test_every_sentence_of_a_map_is_in_the_dialects_tests_word_for_word(path: Path) -> None:
    tested = texts_of(path.stem)
    sentences = [found for row in rows_of(path) for found in _SENTENCE.findall(row)]
    assert sentences
    parts = [part for sentence in sentences for part in _OPEN.split(sentence)]
    assert [part for part in parts if part not in tested] == []
