"""Save, list, plan and delete rules."""

from __future__ import annotations

from postroom.model.errors import InvalidRequest
from postroom.model.ids import Kind
from postroom.model.rule import Safety
from postroom.service.gateway import Gateway
from postroom.service.reading.search import check_page
from postroom.service.rules.document import read_rule, version_of
from postroom.service.rules.effects import steps_of
from postroom.service.rules.planning import make_plan
from postroom.service.rules.views import PlanView, RulePage, RuleView
from postroom.service.rules.wording import rule_view
from postroom.store import NewRule, StoredRule
from postroom.store.handles import unknown


async def create_rule(
    gateway: Gateway, rule_yaml: str, *, dry_run: bool = True, account: str | None = None, by_operator: bool = False
) -> RuleView | PlanView:
    """With `dry_run` the rule is not saved: the result is the plan of what it would do now, which `run_rule` can run
    once. Without, it is checked and saved, and nothing is run. Only the operator may do without a dry run or audit."""
    definition = read_rule(rule_yaml)
    if not by_operator:
        _refuse_to_loosen(definition.safety)
    opened = await gateway.accounts.open(account)
    if dry_run:
        view, _ = await make_plan(gateway, opened, definition, rule_yaml)
        return view
    await steps_of(opened, definition.rule)
    rule = NewRule(
        account=opened.name,
        name=definition.rule.name,
        source=rule_yaml,
        version=version_of(definition),
        enabled=definition.enabled,
        every_minutes=definition.every_minutes,
    )
    return rule_view(gateway, await gateway.in_thread(gateway.store.rules.save, rule))


def _refuse_to_loosen(safety: Safety) -> None:
    loosened = [name for name in ("dry_run_required", "audit") if not getattr(safety, name)]
    if loosened:
        raise InvalidRequest(
            f"safety.{loosened[0]} can be switched off only by the operator, with `postroom rules save`. "
            "Leave it out, or set it to true.",
            details={"field": f"safety.{loosened[0]}"},
        )


async def list_rules(gateway: Gateway, *, limit: int = 50, offset: int = 0, account: str | None = None) -> RulePage:
    """Of every account, unless one is named; in the order of their making."""
    check_page(limit, offset)
    wanted = None if account is None or account == "all" else gateway.accounts.named(account).name
    stored = [
        rule
        for rule in await gateway.in_thread(gateway.store.rules.all)
        if gateway.accounts.may_see(rule.account) and wanted in (None, rule.account)
    ]
    shown = tuple(rule_view(gateway, rule) for rule in stored[offset : offset + limit])
    return RulePage(shown, len(stored), limit, offset, offset + limit < len(stored))


async def get_rule(gateway: Gateway, rule_id: str) -> RuleView:
    return rule_view(gateway, await _visible(gateway, rule_id))


async def delete_rule(gateway: Gateway, rule_id: str) -> RuleView:
    """The rule as it was. What its runs did stays, and can still be undone."""
    rule = await _visible(gateway, rule_id)
    await gateway.in_thread(gateway.store.rules.delete, rule.rule_id)
    return rule_view(gateway, rule)


async def plan_rule(gateway: Gateway, rule_id: str, *, account: str | None = None) -> PlanView:
    """What the saved rule would do now. Nothing is changed."""
    rule = await _visible(gateway, rule_id)
    gateway.accounts.require(rule.account, account, rule.rule_id)
    opened = await gateway.accounts.open(rule.account)
    view, _ = await make_plan(gateway, opened, read_rule(rule.source), rule.source, rule_id=rule.rule_id)
    return view


async def _visible(gateway: Gateway, rule_id: str) -> StoredRule:
    rule = await gateway.in_thread(gateway.store.rules.get, rule_id)
    if not gateway.accounts.may_see(rule.account):
        raise unknown(rule_id, Kind.RULE)
    return rule
