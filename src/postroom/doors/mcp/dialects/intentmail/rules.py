"""Toolset `rules`: define a rule, and see what it would do. Nothing here runs one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.intentmail import results, shapes
from postroom.doors.mcp.dialects.postroom.rule_results import MORE_THAN_ONE_RUN
from postroom.doors.mcp.failures import advice_within
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.rules.views import PlannedEmail, PlanView, RuleView

toolset = Toolset("rules")

MAX_LISTED = 100
_YAML = """\
YAML rule definition:
version: 1
name: archive-newsletters
enabled: true
conditions: # all must hold
- {field: from, operator: matches, value: "*@substack.com"}
- {field: age_days, operator: greater_than, value: 7}
actions:
- {type: apply_label, label: archived}
- {type: archive}
safety: {dry_run_required: true, audit: true, max_actions_per_run: 100}

Fields: from to cc subject body age_days has_attachment labels size list_id folder. Operators: equals in contains \
matches (glob) greater_than less_than; add not: true to negate. Actions: apply_label/remove_label {label}, move_folder \
{folder}, mark_read, mark_unread, star, archive, delete, forward {to}"""


@toolset.tool("Create rule", returns=shapes.Rule | shapes.DryRunPlan)
async def create_rule(
    gateway: Gateway,
    rule_yaml: Annotated[str, Field(description=_YAML)],
    dry_run: Annotated[
        bool, Field(strict=True, description="false saves the rule; true only shows what it would do")
    ] = True,
) -> CallToolResult:
    """Define automation rule (YAML format)"""
    from postroom.service.rules import rules
    from postroom.service.rules.views import PlanView

    made = await rules.create_rule(gateway, rule_yaml, dry_run=dry_run)
    return results.told(_plan(made) if isinstance(made, PlanView) else _rule(made))


@toolset.tool("Run rule plan", returns=shapes.DryRunPlan, read_only=True)
async def run_rule_plan(
    gateway: Gateway, rule_id: Annotated[str, Field(description="rule_id, as create_rule returned it")]
) -> CallToolResult:
    """Dry-run a rule without executing"""
    from postroom.service.rules import rules

    return results.told(_plan(await rules.plan_rule(gateway, rule_id)))


def _rule(view: RuleView) -> shapes.Rule:
    return {
        "rule_id": view.rule_id,
        "name": view.name,
        "enabled": view.enabled,
        "schedule": view.schedule,
        "conditions": list(view.conditions),
        "actions": list(view.actions),
        "safety": {
            "dry_run_required": view.dry_run_required,
            "audit": view.audit,
            "max_actions_per_run": view.max_actions_per_run,
        },
        "rule_yaml": view.rule_yaml,
        "created": view.created,
        "notices": list(map(advice_within, view.notices)),
    }


def _plan(view: PlanView) -> shapes.DryRunPlan:
    """Of a long plan the beginning is listed; the counts are of all of it, and how many more emails fulfil the rule
    than one run may change is not known."""
    listed = view.results[:MAX_LISTED]
    messages: shapes.PlannedPage = {
        "results": [_planned(email) for email in listed],
        "total_count": view.matched + view.has_more,
        "limit": MAX_LISTED,
        "offset": 0,
        "has_more": view.has_more or view.matched > len(listed),
    }
    if view.has_more:
        messages["total_count_is_minimum"] = True
    return {
        "plan_id": view.plan_id,
        "rule_id": view.rule_id,
        "name": view.name,
        "expires": view.expires,
        "action_count": view.action_count,
        "examined": view.examined,
        "messages": messages,
        "notices": [*([MORE_THAN_ONE_RUN] if view.has_more else []), *map(advice_within, view.notices)],
    }


def _planned(email: PlannedEmail) -> shapes.PlannedMessage:
    row = email.row
    return {
        "message_id": row.email_id,
        "folder": row.mailbox,
        "from": row.sender,
        "subject": row.subject,
        "date": row.date,
        "actions": list(email.actions),
    }
