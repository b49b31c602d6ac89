"""Rules: conditions that must all match, and what is then done with a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ConditionField = Literal[
    "from", "to", "cc", "subject", "body", "age_days", "has_attachment", "labels", "size", "list_id", "folder"
]
Operator = Literal["equals", "matches", "contains", "greater_than", "less_than", "in"]
ActionType = Literal[
    "apply_label", "remove_label", "move_folder", "mark_read", "mark_unread", "star", "archive", "delete", "forward"
]


@dataclass(frozen=True, slots=True)
class Condition:
    """`matches` is a glob; `in` compares with each of several values. Numbers and booleans are written as text."""

    field: ConditionField
    operator: Operator
    values: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """`target` is the label, the folder or the address that the action needs."""

    type: ActionType
    target: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules stored on a server, in order, and whether it runs them."""

    rules: tuple[Rule, ...]
    is_active: bool


@dataclass(frozen=True, slots=True)
class Safety:
    """What a rule demands of its own runs. An action is one change to one message."""

    dry_run_required: bool = True  # before the first scheduled run, somebody must have run a plan of this rule
    audit: bool = True
    max_actions_per_run: int = 100


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule as somebody wrote it down, with when and how it may run. Without a schedule it runs on request."""

    rule: Rule
    enabled: bool = True
    every_minutes: int | None = None
    safety: Safety = Safety()
