"""The structured results of the toolset `rules`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Rule(TypedDict):
    rule_id: str
    account: str
    name: str
    enabled: bool
    schedule: str
    conditions: list[str]
    actions: list[str]
    dry_run_required: bool
    audit: bool
    max_actions_per_run: int
    rule_yaml: str
    created: str
    last_run: str
    last_result: str
    next_run: str
    notices: list[str]


class RulePage(TypedDict):
    results: list[Rule]
    total_count: int
    limit: int
    offset: int
    has_more: bool


PlannedEmail = TypedDict(
    "PlannedEmail",
    {"email_id": str, "mailbox": str, "from": str, "subject": str, "date": str, "actions": list[str]},
)


class Plan(TypedDict):
    plan_id: str
    rule_id: str
    name: str
    account: str
    expires: str
    matched: int
    action_count: int
    examined: int
    has_more: bool
    results: list[PlannedEmail]  # the first hundred
    notices: list[str]
    untrusted_fields: list[str]


class Created(TypedDict):
    status: Literal["dry_run", "saved"]
    plan: NotRequired[Plan]
    rule: NotRequired[Rule]


class RunItem(TypedDict):
    email_id: str
    ok: bool
    done: list[str]
    skipped: NotRequired[str]
    error: NotRequired[dict[str, Any]]  # code, message, details, retry_after
    send_status: NotRequired[str]
    send_id: NotRequired[str]


class Run(TypedDict):
    status: Literal["done", "stopped", "already_executed"]
    message: str
    operation_id: str
    plan_id: str
    rule_id: str
    name: str
    account: str
    succeeded: int
    skipped: int
    failed: int
    action_count: int
    results: list[RunItem]  # the first hundred that were skipped, failed or forwarded


class Deleted(TypedDict):
    rule_id: str
    name: str
    status: Literal["deleted"]
