"""Every module is there for something: it is imported on some way from the commands and dialects, or named by the
registry."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from postroom.doors.cli.main import COMMANDS
from postroom.doors.mcp.dialects.postroom.results import ADVERTISED
from postroom.model.capabilities import Capabilities
from postroom.providers import registry

from .tree import SOURCE, python_files

# What is run by itself: the command, the processes that read mails, and what writes the tables into the docs.
PROGRAMS = (
    "postroom.__main__",
    "postroom.mime.processes.worker_process",
    "postroom.doors.mcp.tool_table",
    "postroom.doors.mcp.permission_table",
)
SCHEMAS = Path(__file__).parent / "tool_schemas"


def module_of(path: Path) -> str:
    parts = ("postroom", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def names_in(path: Path) -> set[str]:
    """Modules that a file imports, at its top or later, and those it names by a dotted text."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(r"[\"'](postroom(?:\.\w+)+)[\"':]", text))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_every_module_can_be_reached_from_the_command_or_the_registry() -> None:
    files = {module_of(path): path for path in python_files()}
    commands = [f"postroom.doors.cli.{name}" for name in COMMANDS]
    dialects = [module for module in files if module.rpartition(".")[0] == "postroom.doors.mcp.dialects"]
    reached, todo = set[str](), [*PROGRAMS, *commands, *dialects]
    while todo:
        module = todo.pop()
        if module in files and module not in reached:
            reached.add(module)
            todo += names_in(files[module])
            todo.append(module.rpartition(".")[0])
    assert set(files) - reached == set()


def test_what_the_registry_names_is_among_the_modules() -> None:
    files = {module_of(path) for path in python_files()}
    tables = (registry.MAILBOXES, registry.TRANSPORTS, registry.IMPORTERS, registry.SAMPLES)
    assert {path.partition(":")[0] for table in tables for path in table.values()} <= files


def test_get_capabilities_tells_only_of_what_a_tool_can_do() -> None:
    tools = {path.stem for path in SCHEMAS.glob("*.json")}
    assert set(ADVERTISED) <= {name for name, kind in Capabilities.__annotations__.items() if kind == "bool"}
    assert set(ADVERTISED.values()) - tools == {"resources/subscribe"}
