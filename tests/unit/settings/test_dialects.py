"""What is particular about a dialect is one row of data, and nobody else decides by its name."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.architecture.tree import ROOT

from postroom.settings import build
from postroom.settings.dialects import TRAITS, logged_names
from postroom.settings.sections import Dialect

SOURCES = sorted((ROOT / "src").rglob("*.py"))
NAMES = set(get_args(Dialect))


def settings_of(home: Path, dialect: str, **tables: dict[str, Any]):
    account = {"name": "a", "provider": "local", "address": "a@demo.example"}
    server = {"dialect": dialect, **tables.pop("server", {})}
    return build({"server": server, "accounts": [account], **tables}, home=home)


def test_every_dialect_has_its_row() -> None:
    assert set(TRAITS) == NAMES


@pytest.mark.parametrize("dialect", sorted(NAMES))
def test_what_the_operator_left_open_is_chosen_by_the_dialect(tmp_path: Path, dialect: str) -> None:
    settings, traits = settings_of(tmp_path, dialect), TRAITS[dialect]
    assert (settings.server.toolsets, settings.safety.gate) == (traits.toolsets, traits.gate)
    assert settings.traits is traits


def test_what_the_operator_chose_stays(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "graph", server={"toolsets": ["read"]}, safety={"gate": "approval"})
    assert (settings.server.toolsets, settings.safety.gate) == (("read",), "approval")


def test_the_contracts_are_kept_in_numbers() -> None:
    assert (TRAITS["graph"].gate, TRAITS["graph"].key_seconds) == ("confirm", 600)
    assert {traits.key_seconds for name, traits in TRAITS.items() if name != "graph"} == {30 * 86_400}
    assert [name for name, traits in TRAITS.items() if not traits.has_transport] == ["drafts"]
    assert [name for name, traits in TRAITS.items() if traits.heeds_handwritten] == ["vault"]
    assert [name for name, traits in TRAITS.items() if traits.has_fences] == ["postroom"]


def decided_by_name(tree: ast.AST) -> list[int]:
    """Lines that compare a dialect, or choose with one from a literal table."""

    def is_dialect(node: ast.AST) -> bool:
        return (isinstance(node, ast.Attribute) and node.attr == "dialect") or (
            isinstance(node, ast.Name) and node.id == "dialect"
        )

    compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.Match)]
    sides = [(node, [node.left, *node.comparators]) for node in compared if isinstance(node, ast.Compare)]
    sides += [(node, [node.subject]) for node in compared if isinstance(node, ast.Match)]
    looked_up = [(node, [node.slice]) for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    return [node.lineno for node, parts in (*sides, *looked_up) if any(map(is_dialect, parts))]


def test_nobody_else_decides_by_a_dialects_name() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}": line
        for path in SOURCES
        for line in decided_by_name(ast.parse(path.read_text()))
    }
    lookups = {
        place
        for place in found
        if place.startswith(("src/postroom/settings/model.py", "src/postroom/settings/loading.py"))
    }
    assert set(found) - lookups == set()
    assert len(lookups) == 2  # both read the row


def test_the_search_for_such_decisions_finds_one() -> None:
    for guilty in (
        'if settings.server.dialect == "vault": pass',
        'x = {"vault": 1}[dialect]',
        "match dialect:\n case _: pass",
    ):
        assert decided_by_name(ast.parse(guilty))


def test_the_log_knows_every_name_a_dialect_logs_under() -> None:
    from postroom.doors.mcp.log import ALLOWED_FIELDS

    assert logged_names() == {"recipientCount", "bodyType", "importance", "replyAll", "hasComment"}
    assert logged_names() <= set(ALLOWED_FIELDS)
