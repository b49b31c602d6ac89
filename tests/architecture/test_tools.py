"""Every tool of the default dialect is declared whole and costs what it may; schemas change only on purpose.

After a wanted change: ``UPDATE_SNAPSHOTS=1 pytest tests/architecture/test_tools.py``, then read the diff.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
from pathlib import Path
from typing import Any

import pytest

from postroom.doors.mcp import tool_table
from postroom.doors.mcp.server import dialect_names, load_dialect
from postroom.doors.mcp.toolbox import ToolSpec, bind

SNAPSHOTS = Path(__file__).with_name("tool_schemas")


def specs_of(dialect: str) -> list[ToolSpec]:
    return [spec for toolset in load_dialect(dialect).TOOLSETS for spec in toolset.specs]


SPECS = specs_of("postroom")
DEFAULT = ("read", "organise", "drafts", "send")

each_tool = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)


def listed(spec: ToolSpec) -> dict[str, Any]:
    """The tool as tools/list shows it."""
    tool = bind(spec)
    assert tool.annotations is not None
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations.model_dump(by_alias=True, exclude_none=True),
    }


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_tool_names_are_unique() -> None:
    names = [spec.name for spec in SPECS]

    assert len(names) == len(set(names))


@each_tool
def test_every_tool_has_a_title_a_sentence_an_output_schema_and_all_four_hints(spec: ToolSpec) -> None:
    shown = listed(spec)

    assert shown["title"]
    assert shown["description"].rstrip().endswith(".")
    assert shown["outputSchema"]["type"] == "object"
    assert set(shown["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


@each_tool
def test_a_tool_that_reads_only_is_not_called_destructive(spec: ToolSpec) -> None:
    assert not (spec.read_only and (spec.destructive or spec.open_world))


@each_tool
def test_account_is_optional_wherever_it_is_taken(spec: ToolSpec) -> None:
    assert "account" not in bind(spec).parameters.get("required", [])


@each_tool
def test_a_tool_function_is_short(spec: ToolSpec) -> None:
    """Parse, one service call, results: what needs more belongs into the service."""
    (function,) = ast.parse(inspect.getsource(spec.function)).body
    assert isinstance(function, ast.AsyncFunctionDef)
    body = [node for node in function.body if not isinstance(node, ast.Expr)]

    assert len(body) <= 5
    assert (function.end_lineno or 0) - body[0].lineno < 25


@each_tool
def test_every_tool_is_in_the_table(spec: ToolSpec) -> None:
    assert f"| {spec.toolset} | `{spec.name}` |" in tool_table.render()


def snapshots() -> dict[Path, ToolSpec]:
    """Of the default dialect in the folder itself, of each other one in a folder of its own."""
    others = [name for name in dialect_names() if name != "postroom"]
    own = {SNAPSHOTS / f"{spec.name}.json": spec for spec in SPECS}
    return own | {SNAPSHOTS / name / f"{spec.name}.json": spec for name in others for spec in specs_of(name)}


@pytest.mark.parametrize("snapshot", snapshots(), ids=lambda path: path.relative_to(SNAPSHOTS).as_posix())
def test_the_schema_is_the_one_that_was_agreed(snapshot: Path) -> None:
    shown = json.dumps(listed(snapshots()[snapshot]), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(shown, encoding="utf-8")

    assert snapshot.read_text(encoding="utf-8") == shown


def test_no_snapshot_is_left_of_a_tool_that_is_gone() -> None:
    assert set(SNAPSHOTS.rglob("*.json")) == set(snapshots())


def test_the_default_tools_cost_a_model_less_than_20_kb_and_the_wire_less_than_40_kb() -> None:
    tools = [listed(spec) for spec in SPECS if spec.toolset in DEFAULT]
    seen = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]

    assert len(compact(seen).encode()) < 20_000
    assert len(compact({"tools": tools}).encode()) < 40_000
