"""A rule from its YAML, and everything that can be said against it without looking at a mailbox."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import get_args

from postroom.model.address import parse_address
from postroom.model.query.values import read_size
from postroom.model.rule import Action, ActionType, Condition, ConditionField, Definition, Operator, Rule, Safety
from postroom.service.rules.judging import row_of_words
from postroom.service.rules.yaml_parts import Part, parsed

MAX_CONDITIONS, MAX_ACTIONS, MAX_VALUES, MAX_RUN = 20, 10, 50, 1_000
SCHEDULES = {"hourly": 60, "daily": 1_440, "weekly": 10_080}
LEAST_MINUTES, MOST_MINUTES = 5, 10_080
MAX_AGE, MAX_SIZE_HINT = 36_500, "must be a number of bytes, or a size like 300K or 5M"
_KEYS = ("version", "name", "enabled", "conditions", "actions", "schedule", "safety")
_ON_TEXT = ("equals", "in", "matches", "contains")
_ON_NUMBERS = ("equals", "greater_than", "less_than")
OPERATORS: dict[ConditionField, tuple[str, ...]] = {
    **dict.fromkeys(get_args(ConditionField), _ON_TEXT),
    "age_days": _ON_NUMBERS,
    "size": _ON_NUMBERS,
    "has_attachment": ("equals",),
}
_TARGETS: dict[str, str] = {"apply_label": "label", "remove_label": "label", "move_folder": "folder", "forward": "to"}
_MOVING = ("move_folder", "archive", "delete")


def read_rule(rule_yaml: str) -> Definition:
    """InvalidRequest names the line and the field, and says what is allowed."""
    document = parsed(rule_yaml).entries(_KEYS, required=("version", "name", "conditions", "actions"))
    if document["version"].text() != "1":
        raise document["version"].refused("must be 1")
    conditions = tuple(_condition(part) for part in document["conditions"].items(MAX_CONDITIONS))
    action_parts = document["actions"].items(MAX_ACTIONS)
    actions = tuple(map(_action, action_parts))
    _check_together(action_parts, actions)
    return Definition(
        rule=Rule(document["name"].text(80), conditions, actions),
        enabled=document["enabled"].switch() if "enabled" in document else True,
        every_minutes=_schedule(document["schedule"]) if "schedule" in document else None,
        safety=_safety(document["safety"], len(actions)) if "safety" in document else Safety(),
    )


def version_of(definition: Definition) -> str:
    """The same for every spelling of the same rule."""
    return hashlib.sha256(json.dumps(asdict(definition), sort_keys=True).encode()).hexdigest()


def _condition(part: Part) -> Condition:
    """``{field, operator, value}``, or that with ``not: true``, or ``not: {field, operator, value}``."""
    if part.is_mapping and len(part.node.value) == 1:
        inner = part.entries(("not", "field", "operator", "value"))
        if "not" in inner:
            plain = inner["not"].entries(("field", "operator", "value"), required=("field", "operator", "value"))
            return _plain(plain, negated=True)
    entries = part.entries(("field", "operator", "value", "not"), required=("field", "operator", "value"))
    return _plain(entries, negated="not" in entries and entries["not"].switch())


def _plain(entries: dict[str, Part], *, negated: bool) -> Condition:
    field: ConditionField = entries["field"].choice(get_args(ConditionField))  # type: ignore[assignment]
    operator: Operator = entries["operator"].choice(get_args(Operator))  # type: ignore[assignment]
    if operator not in OPERATORS[field]:
        raise entries["operator"].refused(f"{operator} does not apply to {field}. Use {', '.join(OPERATORS[field])}")
    value = entries["value"]
    if operator == "in" and not value.is_list:
        raise value.refused("must be a list, like [a, b], for the operator in")
    parts = value.items(MAX_VALUES) if operator == "in" else [value]
    return Condition(field, operator, tuple(_value(field, operator, part) for part in parts), negated)


def _value(field: ConditionField, operator: Operator, part: Part) -> str:
    if field == "age_days":
        return part.number(MAX_AGE)
    if field == "has_attachment":
        return "true" if part.switch() else "false"
    if field == "size":
        return str(read_size("size", part.checked(lambda text: read_size("size", text), MAX_SIZE_HINT)))
    text = part.text()
    is_whole = operator in ("equals", "in", "matches") and not (operator == "matches" and set("*?") & set(text))
    if field in ("from", "to", "cc") and is_whole and "@" not in text:
        raise part.refused(
            f"has no @, and {operator} compares the whole address. Use contains, or matches with * like *@example.com"
        )
    if operator == "contains" and not row_of_words(text).strip():
        raise part.refused("has neither letters nor digits, and contains looks for words. Use matches, like *%*")
    return text


def _action(part: Part) -> Action:
    entries = part.entries(("type", "label", "folder", "to"), required=("type",))
    kind: ActionType = entries["type"].choice(get_args(ActionType))  # type: ignore[assignment]
    key = _TARGETS.get(kind, "")
    for other in set(entries) - {"type", key}:
        allowed = f"only {key}" if key else "nothing else"
        raise entries[other].refused(f"does not belong to {kind}, which takes {allowed}")
    if not key:
        return Action(kind)
    if key not in entries:
        raise part.refused(f"needs {key}, as in {{type: {kind}, {key}: ...}}")
    target = entries[key]
    if kind == "forward":
        return Action(kind, parse_address(target.checked(parse_address, "must be one email address")).email)
    return Action(kind, target.text(100 if key == "label" else 255))


def _check_together(parts: Sequence[Part], actions: Sequence[Action]) -> None:
    """What one action does, no other may undo or repeat; a message ends up in one place."""
    said: Counter[tuple[str, str]] = Counter()
    for part, action in zip(parts, actions, strict=True):
        for opposite in _opposites(action):
            if said[opposite]:
                raise part.refused(f"{action.type} contradicts {opposite[0]} above. Keep one of them")
        said[(action.type, action.target.casefold())] += 1
        if action.type in _MOVING:
            said[("moving", "")] += 1


def _opposites(action: Action) -> list[tuple[str, str]]:
    target = action.target.casefold()
    other = {
        "apply_label": "remove_label",
        "remove_label": "apply_label",
        "mark_read": "mark_unread",
        "mark_unread": "mark_read",
    }.get(action.type, action.type)
    moved = [(kind, "") for kind in ("archive", "delete", "moving")] if action.type in _MOVING else []
    return [(other, target), (action.type, target), *moved]


def _schedule(part: Part) -> int:
    """``hourly``, ``daily``, ``weekly`` or ``{every_minutes: 30}``."""
    if not part.is_mapping:
        return SCHEDULES[part.choice(tuple(SCHEDULES))]
    return part.entries(("every_minutes",), required=("every_minutes",))["every_minutes"].whole(
        LEAST_MINUTES, MOST_MINUTES
    )


def _safety(part: Part, actions: int) -> Safety:
    """A message gets all its actions or none: a run that may do fewer than a message has would never do any."""
    entries = part.entries(("dry_run_required", "audit", "max_actions_per_run"))
    usual = Safety()
    most = entries["max_actions_per_run"].whole(1, MAX_RUN) if "max_actions_per_run" in entries else None
    if most is not None and most < actions:
        raise entries["max_actions_per_run"].refused(f"must be at least {actions}, which one message may need")
    return Safety(
        dry_run_required=entries["dry_run_required"].switch() if "dry_run_required" in entries else True,
        audit=entries["audit"].switch() if "audit" in entries else True,
        max_actions_per_run=usual.max_actions_per_run if most is None else most,
    )
