"""What the functions on rules return, ready for any door: ids instead of refs, untrusted text already cleaned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from postroom.service.views import EmailRow, ErrorView

RunStatus = Literal["done", "stopped", "already_executed"]


@dataclass(frozen=True, slots=True)
class RuleView:
    """A saved rule. `conditions` and `actions` are in words; `rule_yaml` is what was written."""

    rule_id: str
    account: str
    name: str
    enabled: bool
    schedule: str  # "every 60 minutes", or empty
    conditions: tuple[str, ...]
    actions: tuple[str, ...]
    dry_run_required: bool
    audit: bool
    max_actions_per_run: int
    rule_yaml: str
    created: str
    last_run: str = ""
    last_result: str = ""
    next_run: str = ""
    notices: tuple[str, ...] = ()  # whole sentences about what keeps it from running


@dataclass(frozen=True, slots=True)
class RulePage:
    results: tuple[RuleView, ...]
    total_count: int
    limit: int
    offset: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class PlannedEmail:
    """A message that the rule would change, and the actions that would change it, in words."""

    row: EmailRow
    actions: tuple[str, ...]

    @property
    def email_id(self) -> str:
        return self.row.email_id


@dataclass(frozen=True, slots=True)
class PlanView:
    """What a rule would do now; nothing has been changed. `run_rule` takes the `plan_id` and does exactly this."""

    plan_id: str
    rule_id: str  # empty for a rule that was not saved
    name: str
    account: str
    expires: str
    results: tuple[PlannedEmail, ...]
    action_count: int
    examined: int  # messages that were looked at
    has_more: bool  # more messages match the rule than one run may change
    notices: tuple[str, ...] = ()

    @property
    def matched(self) -> int:
        return len(self.results)


@dataclass(frozen=True, slots=True)
class RunItem:
    """One message of a run. `done` are the actions that are in effect now; `skipped` says why nothing was tried."""

    email_id: str
    ok: bool
    done: tuple[str, ...] = ()
    skipped: str = ""
    error: ErrorView | None = None
    send_status: str = ""  # of a forward: as for any send
    send_id: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    """What a run did. `operation_id` is what `undo` takes; empty where nothing changed."""

    operation_id: str
    plan_id: str
    rule_id: str
    name: str
    account: str
    status: RunStatus
    message: str
    results: tuple[RunItem, ...]
    succeeded: int
    skipped: int
    failed: int
    action_count: int
    warnings: tuple[str, ...] = field(default=())


def as_report(view: RunView) -> dict[str, Any]:
    """For the store: what a repeated call is told."""
    from dataclasses import asdict

    return asdict(view)


def from_report(report: dict[str, Any]) -> RunView:
    items = tuple(
        RunItem(**{**item, "done": tuple(item["done"]), "error": ErrorView(**item["error"]) if item["error"] else None})
        for item in report["results"]
    )
    return RunView(**{**report, "results": items, "warnings": tuple(report["warnings"])})
