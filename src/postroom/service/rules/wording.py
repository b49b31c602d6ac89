"""Rules in words, for people and models."""

from __future__ import annotations

from postroom.mime.clean import clean_line
from postroom.model.rule import Action, Condition, Definition
from postroom.service.gateway import Gateway
from postroom.service.rules.document import read_rule
from postroom.service.rules.views import RuleView
from postroom.store import StoredRule

_OPERATORS = {
    "equals": "is",
    "matches": "matches",
    "contains": "contains",
    "greater_than": "is more than",
    "less_than": "is less than",
    "in": "is one of",
}

_NOT_YET = (
    "Its schedule starts after its first run by request: safety.dry_run_required is on. Call run_rule with a plan of "
    "run_rule_plan that the user has seen."
)


def condition_text(condition: Condition) -> str:
    negation = "not: " if condition.negated else ""
    return clean_line(f"{negation}{condition.field} {_OPERATORS[condition.operator]} {', '.join(condition.values)}")


def action_text(action: Action) -> str:
    return clean_line(f"{action.type} {action.target}".rstrip())


def schedule_text(every_minutes: int | None) -> str:
    if every_minutes is None:
        return ""
    return "every hour" if every_minutes == 60 else f"every {every_minutes} minutes"


def rule_view(gateway: Gateway, rule: StoredRule) -> RuleView:
    definition = read_rule(rule.source)
    safety = definition.safety
    return RuleView(
        rule_id=rule.rule_id,
        account=rule.account,
        name=clean_line(rule.name),
        enabled=rule.enabled,
        schedule=schedule_text(rule.every_minutes),
        conditions=tuple(map(condition_text, definition.rule.conditions)),
        actions=tuple(map(action_text, definition.rule.actions)),
        dry_run_required=safety.dry_run_required,
        audit=safety.audit,
        max_actions_per_run=safety.max_actions_per_run,
        rule_yaml=rule.source,
        created=gateway.shown_time(rule.created_at),
        last_run=gateway.shown_time(rule.last_run_at) if rule.last_run_at else "",
        last_result=rule.last_result,
        next_run=gateway.shown_time(rule.next_run_at) if rule.next_run_at else "",
        notices=_notices(rule, definition),
    )


def _notices(rule: StoredRule, definition: Definition) -> tuple[str, ...]:
    if not (rule.enabled and rule.every_minutes and definition.safety.dry_run_required) or rule.is_proven:
        return ()
    return (_NOT_YET,)
