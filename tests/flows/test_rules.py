"""Rules over MCP: a plan is shown, run, reported on while it runs, and undone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client
from tests.flows.caller import Caller

from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings

RULE = """\
version: 1
name: billing
conditions: [{field: from, operator: contains, value: billing}]
actions: [{type: apply_label, label: bills}, {type: archive}]
schedule: hourly
"""


async def test_rules_are_off_until_the_operator_wants_them(make_settings: Callable[..., Settings]) -> None:
    async with Client(server_for(make_settings())) as client:
        assert not {tool.name for tool in (await client.list_tools()).tools} & {"create_rule", "run_rule"}


async def test_a_rule_is_tried_saved_planned_run_and_undone(
    make_settings: Callable[..., Settings], filled: None
) -> None:
    settings = make_settings(toolsets=["read", "organise", "rules"])
    seen: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, _: str | None) -> None:
        seen.append((done, total))

    async with Client(server_for(settings)) as client:
        caller = Caller(client)
        tried = await caller.ok("create_rule", rule_yaml=RULE)
        assert tried["status"] == "dry_run"
        assert tried["plan"]["matched"] >= 1
        assert (await caller.ok("list_rules"))["total_count"] == 0
        kept = (await caller.ok("create_rule", rule_yaml=RULE, dry_run=False))["rule"]
        plan = await caller.ok("run_rule_plan", rule_id=kept["rule_id"])
        assert plan["results"][0]["actions"] == ["apply_label bills", "archive"]

        ran = (
            await client.call_tool("run_rule", {"plan_id": plan["plan_id"]}, progress_callback=progress)
        ).structured_content
        assert ran is not None
        assert (ran["status"], ran["succeeded"]) == ("done", plan["matched"])
        assert seen[-1] == (plan["action_count"], plan["action_count"])
        (listed,) = (await caller.ok("list_rules"))["results"]
        assert (listed["last_result"], listed["notices"]) == (ran["message"], [])
        undone = await caller.ok("undo", operation_id=ran["operation_id"])
        assert (undone["succeeded"], undone["failed"]) == (plan["matched"], 0)
        again = await caller.ok("run_rule", plan_id=plan["plan_id"])
        assert again["status"] == "already_executed"
        assert (await caller.ok("delete_rule", rule_id=kept["rule_id"]))["status"] == "deleted"
        assert (await caller.ok("list_rules"))["total_count"] == 0


async def test_a_mistake_in_a_rule_is_answered_with_its_line(make_settings: Callable[..., Settings]) -> None:
    async with Client(server_for(make_settings(toolsets=["rules"]))) as client:
        answer = await client.call_tool("create_rule", {"rule_yaml": RULE.replace("archive", "shred")})

    assert answer.is_error
    assert "line 4: actions[1].type must be one of" in answer.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["dry_run_required", "audit"])
@pytest.mark.parametrize("dry_run", [True, False])
async def test_only_the_operator_switches_off_what_makes_rules_safe(
    make_settings: Callable[..., Settings], name: str, dry_run: bool
) -> None:
    loosened = f"{RULE}safety: {{{name}: false}}\n"
    async with Client(server_for(make_settings(toolsets=["rules"]))) as client:
        answer = await client.call_tool("create_rule", {"rule_yaml": loosened, "dry_run": dry_run})
        kept = await Caller(client).ok("list_rules")

    assert answer.is_error
    assert f"safety.{name} can be switched off only by the operator" in str(answer.content)
    assert kept["total_count"] == 0


async def test_read_only_lists_and_plans_and_offers_nothing_else(make_settings: Callable[..., Settings]) -> None:
    async with Client(server_for(make_settings(toolsets=["rules"], read_only=True))) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}

    assert names == {"list_rules", "run_rule_plan"}
