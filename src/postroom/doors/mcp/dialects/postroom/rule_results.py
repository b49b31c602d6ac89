"""Results of the toolset `rules`. Of a long plan or run the beginning is shown; the counts are of all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult

from postroom.doors.mcp.dialects.postroom.results import answer, plain
from postroom.doors.mcp.dialects.postroom.text import cut, set_apart

if TYPE_CHECKING:
    from postroom.service.rules.views import PlannedEmail, PlanView, RulePage, RuleView, RunItem, RunView

MAX_LISTED, MAX_LINES = 100, 20
MORE_THAN_ONE_RUN = "More emails fulfil the rule than one run may change."
_ROW = ("email_id", "mailbox", "from", "subject", "date")


def created(view: RuleView | PlanView) -> CallToolResult:
    if hasattr(view, "plan_id"):
        plan: Any = view
        words = f"Dry run: the rule is not saved. {_plan(plan)}\nTo save the rule call create_rule with dry_run=false."
        return answer({"status": "dry_run", "plan": _structured_plan(plan)}, words)
    return answer({"status": "saved", "rule": plain(view)}, f"Saved, nothing was run. {_rule(view)}")


def rule_page(page: RulePage) -> CallToolResult:
    lines = [_rule(rule) for rule in page.results] or ["There are no rules."]
    if page.has_more:
        lines.append(f"More: offset={page.offset + len(page.results)}.")
    return answer(plain(page), "\n".join(lines))


def plan(view: PlanView) -> CallToolResult:
    return answer(_structured_plan(view), _plan(view))


def run(view: RunView) -> CallToolResult:
    shown = [item for item in view.results if not item.ok or item.send_status][:MAX_LISTED]
    structured = {**plain(view), "results": [_item(item) for item in shown]}
    del structured["warnings"]
    lines = [f"{view.status}: {view.message}"]
    if view.operation_id:
        lines.append(f"Undo with operation_id {view.operation_id}.")
    lines += [_line(item) for item in shown[:MAX_LINES]]
    result = answer(structured, "\n".join(lines))
    result.is_error = view.failed > 0 and view.succeeded == 0
    return result


def deleted(view: RuleView) -> CallToolResult:
    structured = {"rule_id": view.rule_id, "name": view.name, "status": "deleted"}
    return answer(structured, f"Rule {view.rule_id} ({view.name}) deleted. What it did stays as it is.")


def _structured_plan(view: PlanView) -> dict[str, Any]:
    listed = [_planned(email) for email in view.results[:MAX_LISTED]]
    return {**plain(view), "matched": view.matched, "results": listed, "untrusted_fields": ["from", "subject"]}


def _planned(email: PlannedEmail) -> dict[str, Any]:
    row = plain(email.row)
    return {**{name: row[name] for name in _ROW}, "actions": list(email.actions)}


def _plan(view: PlanView) -> str:
    emails = "1 email" if view.matched == 1 else f"{view.matched} emails"
    if not view.matched:
        return " ".join([f"Plan {view.plan_id}: nothing to do; {view.examined} emails examined.", *view.notices])
    head = f"Plan {view.plan_id} for {emails}, {view.action_count} actions; nothing was changed."
    more = [MORE_THAN_ONE_RUN] if view.has_more else []
    lines = [
        f"{email.email_id} {cut(email.row.sender, 40)} | {cut(email.row.subject, 52)} -> {'; '.join(email.actions)}"
        for email in view.results[:MAX_LINES]
    ]
    rest = [f"and {view.matched - MAX_LINES} more"] if view.matched > MAX_LINES else []
    end = f"run_rule with this plan_id does exactly this, until {view.expires}."
    return "\n".join([" ".join([head, *more, *view.notices]), set_apart("\n".join([*lines, *rest])), end])


def _rule(rule: RuleView) -> str:
    state = ("enabled" if rule.enabled else "disabled") + (f", {rule.schedule}" if rule.schedule else "")
    last = f" Last run {rule.last_run}: {rule.last_result}" if rule.last_run else ""
    said = f"{rule.rule_id} {rule.name} ({rule.account}, {state}): if {' and '.join(rule.conditions)}"
    return " ".join([f"{said} then {', '.join(rule.actions)}.{last}", *rule.notices])


def _item(item: RunItem) -> dict[str, Any]:
    return {name: value for name, value in plain(item).items() if value not in ("", None)}


def _line(item: RunItem) -> str:
    if item.send_status and item.ok:
        return f"{item.email_id}: forward {item.send_status}" + (f", send_id {item.send_id}" if item.send_id else "")
    return f"{item.email_id}: {item.skipped or (item.error.message if item.error else 'failed')}"
