"""Toolset `rules`: write a rule down, see what it would do, run exactly that. Off unless the operator wants it."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import rule_results, rule_shapes
from postroom.doors.mcp.dialects.postroom.arguments import AccountName, Limit, Offset, named
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

toolset = Toolset("rules")

RuleId = Annotated[str, Field(description="Rule id (r...)")]
_YAML = """\
version: 1
name: old-news
conditions: # all must hold
- {field: from, operator: matches, value: "*@news.example"}
- {field: age_days, operator: greater_than, value: 7}
actions:
- {type: apply_label, label: news}
- {type: archive}

Fields: from to cc subject body age_days has_attachment labels size list_id folder. Operators: equals in contains \
matches (glob) greater_than less_than; add not: true to negate. Actions: apply_label/remove_label {label}, move_folder \
{folder}, mark_read, mark_unread, star, archive, delete, forward {to}. Optional: enabled, schedule (hourly, daily, \
weekly, {every_minutes: 30}), safety {dry_run_required, audit, max_actions_per_run}"""


@toolset.tool("Create rule", returns=rule_shapes.Created)
async def create_rule(
    gateway: Gateway,
    rule_yaml: Annotated[str, Field(description=_YAML)],
    dry_run: Annotated[
        bool, Field(strict=True, description="false saves the rule; true only shows what it would do")
    ] = True,
    account: AccountName = "",
) -> CallToolResult:
    """Plan or save a rule. By default a dry run: nothing is saved or changed; the plan shows what the rule would do."""
    from postroom.service.rules import rules

    return rule_results.created(await rules.create_rule(gateway, rule_yaml, dry_run=dry_run, account=named(account)))


@toolset.tool("List rules", returns=rule_shapes.RulePage, read_only=True, idempotent=True)
async def list_rules(
    gateway: Gateway,
    limit: Limit = 50,
    offset: Offset = 0,
    account: Annotated[str, Field(description="Default: all accounts")] = "",
) -> CallToolResult:
    """List the saved rules."""
    from postroom.service.rules import rules

    return rule_results.rule_page(await rules.list_rules(gateway, limit=limit, offset=offset, account=named(account)))


@toolset.tool("Plan rule", returns=rule_shapes.Plan, read_only=True)
async def run_rule_plan(gateway: Gateway, rule_id: RuleId) -> CallToolResult:
    """Show what a saved rule would do now. Nothing is changed; run_rule runs exactly this plan."""
    from postroom.service.rules import rules

    return rule_results.plan(await rules.plan_rule(gateway, rule_id))


@toolset.tool("Run rule", returns=rule_shapes.Run, destructive=True, idempotent=True, open_world=True)
async def run_rule(
    gateway: Gateway, ctx: Context[Gateway, Any], plan_id: Annotated[str, Field(description="Plan id (p...)")]
) -> CallToolResult:
    """Run a plan that the user has seen, once. Emails that changed since are skipped; undo reverses the run, except for
    forwards, which are sent like any email."""
    from postroom.service.rules import running

    return rule_results.run(await running.run_rule(gateway, plan_id, progress=ctx.report_progress))


@toolset.tool("Delete rule", returns=rule_shapes.Deleted, destructive=True)
async def delete_rule(gateway: Gateway, rule_id: RuleId) -> CallToolResult:
    """Delete a saved rule. What it did to emails stays and can still be undone."""
    from postroom.service.rules import rules

    return rule_results.deleted(await rules.delete_rule(gateway, rule_id))
