"""What works where, as the matrix knows it; docs/dialects.md shows it."""

from __future__ import annotations

from .adapters import ADAPTERS
from .steps import STEPS, Step

# Provider -> what the story needs and it does not have. The matrix compares that with what its accounts say.
LACKS: dict[str, frozenset[str]] = {
    "local": frozenset(),
    "imap": frozenset({"can_create_alias"}),
    "gmail": frozenset({"can_create_alias"}),
    "graph": frozenset({"can_create_alias"}),
    "jmap": frozenset({"can_create_alias"}),  # Cyrus has no Identity/set
    "rest": frozenset({"can_create_alias", "can_draft", "can_label", "has_raw"}),
}


def steps_of(dialect: str) -> list[Step]:
    return [step for step in STEPS if hasattr(ADAPTERS[dialect], step.verb)]


def render() -> str:
    head = ["dialect", "what it does", *(f"`{provider}`" for provider in LACKS)]
    rows = [head, ["---"] * len(head), *(_row(dialect) for dialect in ADAPTERS)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _row(dialect: str) -> list[str]:
    steps = [step for step in steps_of(dialect) if step.shown]
    return [f"`{dialect}`", ", ".join(step.shown for step in steps), *(_cell(steps, LACKS[one]) for one in LACKS)]


def _cell(steps: list[Step], lacks: frozenset[str]) -> str:
    missing = [step.shown for step in steps if step.needs in lacks]
    return f"all but: {', '.join(missing)}" if missing else "all"
