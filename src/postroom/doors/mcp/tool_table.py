"""The table of tools for people, generated from the tools themselves."""

from __future__ import annotations

from postroom.doors.mcp.server import load_dialect
from postroom.doors.mcp.toolbox import ToolSpec


def render(dialect: str = "postroom") -> str:
    """Markdown: one table of all tools by toolset, each with its first sentence and what it may change."""
    rows = [_row(spec) for toolset in load_dialect(dialect).TOOLSETS for spec in toolset.specs]
    return "\n".join(["| toolset | tool | what it does | |", "|---|---|---|---|", *rows]) + "\n"


def _row(spec: ToolSpec) -> str:
    return f"| {spec.toolset} | `{spec.name}` | {_first_sentence(spec.description)} | {_hint(spec)} |"


def _first_sentence(description: str) -> str:
    first, stop, _ = " ".join(description.split()).partition(". ")
    return (first + stop.strip()).replace("|", "\\|")


def _hint(spec: ToolSpec) -> str:
    if spec.open_world and not spec.read_only:
        return "sends, through the gate"
    words = ["reads" if spec.read_only else "removes or overwrites" if spec.destructive else "writes"]
    if spec.idempotent and not spec.read_only:
        words.append("safe to repeat")
    return ", ".join(words)
