"""Rules of the inbox (messageRules), those of Postroom alone: the others are neither shown nor changed.

Exchange knows fewer conditions than Postroom, and runs a rule once, when a message arrives. A rule is sent only if all
of it can be expressed; a `forward` never is: everything that is sent passes the gate.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from postroom.model.address import Address
from postroom.model.errors import InvalidRequest, PostroomError
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.rule import Action, Condition, Rule, RuleSet
from postroom.providers.graph.mail.convert import recipients
from postroom.providers.graph.mail.folders import Directory
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON, objects, quoted, text

_PATH = "/mailFolders/inbox/messageRules"
_OURS = "Postroom: "
# Not here: `recipientContains` looks at Cc too, and `headerContains` at every header: each would match more.
_TEXTS = {
    ("from", "contains"): "senderContains",
    ("subject", "contains"): "subjectContains",
    ("body", "contains"): "bodyContains",
}
_ADDRESSES = {"from": "fromAddresses", "to": "sentToAddresses"}
_TARGETS = {"archive": Role.ARCHIVE}
_KB = 1024


class InboxRules:
    def __init__(self, client: Client, directory: Directory) -> None:
        self._client = client
        self._directory = directory

    async def kept(self) -> RuleSet:
        found = await self._ours()
        folders = await self._directory.known()
        rules = tuple(_read(one, folders) for one in found)
        return RuleSet(rules, is_active=any(one.get("isEnabled") is True for one in found))

    async def check(self, rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
        folders = await self._directory.known()
        lacking = {rule.name: _lacking(rule, folders) for rule in rules}
        return {name: reasons for name, reasons in lacking.items() if reasons}

    async def put(self, rules: Sequence[Rule]) -> None:
        """The new ones first, not running; then the old ones are removed and the new ones run as those did."""
        folders, old = await self._directory.listed(), await self._ours()
        written = [_written(rule, folders) for rule in rules]
        is_active = any(one.get("isEnabled") is True for one in old)
        first = 1 + max((one.get("sequence") or 0 for one in await self._all()), default=0)
        made: list[JSON] = []
        try:
            for number, one in enumerate(written):
                made.append(await self._client.write("POST", _PATH, {**one, "sequence": first + number}))
        except PostroomError:
            await self._remove(made)
            raise
        await self._remove(old)
        await self._enable(made, is_active)

    async def activate(self, active: bool) -> None:
        await self._enable(await self._ours(), active)

    async def _all(self) -> list[JSON]:
        return objects((await self._client.get(_PATH)).get("value"))

    async def _ours(self) -> list[JSON]:
        found = [one for one in await self._all() if text(one.get("displayName")).startswith(_OURS)]
        return sorted(found, key=lambda one: one.get("sequence") or 0)

    async def _remove(self, rules: Sequence[JSON]) -> None:
        for one in rules:
            await self._client.write("DELETE", f"{_PATH}/{quoted(text(one.get('id')))}")

    async def _enable(self, rules: Sequence[JSON], active: bool) -> None:
        for one in rules:
            if (one.get("isEnabled") is True) is not active:
                await self._client.write("PATCH", f"{_PATH}/{quoted(text(one.get('id')))}", {"isEnabled": active})


def server_form(rule: Rule, folders: list[Folder]) -> tuple[str, tuple[str, ...]]:
    """The messageRule as JSON, and what keeps it from being written; one of them is empty."""
    lacking = _lacking(rule, folders)
    return ("" if lacking else json.dumps(_written(rule, folders), indent=2, ensure_ascii=False)), lacking


def _written(rule: Rule, folders: list[Folder]) -> JSON:
    if lacking := _lacking(rule, folders):
        raise InvalidRequest(
            f"Microsoft cannot run the rule {rule.name[:80]!r}: {'; '.join(lacking)}.", details={"field": "rules"}
        )
    conditions, exceptions = ({}, {})  # type: tuple[JSON, JSON]
    for one in rule.conditions:
        (exceptions if one.negated else conditions).update(_predicate(one))
    actions: JSON = {}
    for each in rule.actions:
        for name, value in _action(each, folders).items():
            actions[name] = [*actions.get(name, []), *value] if isinstance(value, list) else value
    written = {"displayName": _OURS + rule.name, "isEnabled": False, "conditions": conditions, "actions": actions}
    return written | ({"exceptions": exceptions} if exceptions else {})


def _lacking(rule: Rule, folders: list[Folder]) -> tuple[str, ...]:
    """The parts that cannot be expressed, as text. Two conditions of one kind would be alternatives."""
    reasons = [f"the condition on {one.field} ({one.operator})" for one in rule.conditions if not _predicate(one)]
    seen: set[tuple[str, bool]] = set()
    for one in rule.conditions:
        for name in _predicate(one):
            if (name, one.negated) in seen:
                reasons.append(f"two conditions on {one.field}")
            seen.add((name, one.negated))
    reasons += ["more than one negated condition"] * (sum(one.negated for one in rule.conditions) > 1)
    reasons += [f"the action {one.type} {one.target}".rstrip() for one in rule.actions if not _action(one, folders)]
    if not (rule.actions and any(not one.negated for one in rule.conditions)):
        reasons.append("it needs at least one condition that is not negated, and one action")
    return tuple(reasons)


def _predicate(condition: Condition) -> JSON:
    """Empty where there is none."""
    values = [one for one in condition.values if one.strip() and one.isprintable()]
    if not values or len(values) < len(condition.values):
        return {}
    if name := _TEXTS.get((condition.field, condition.operator)):
        return {name: values}
    match condition.field, condition.operator:
        case (("from" | "to"), ("equals" | "in")):
            return {_ADDRESSES[condition.field]: recipients([Address(one) for one in values])}
        case "has_attachment", "equals" if values[0] == "true":
            return {"hasAttachments": True}
        case "size", ("greater_than" | "less_than") if values[0].isdecimal() and int(values[0]) % _KB == 0:
            bound = "minimumSize" if condition.operator == "greater_than" else "maximumSize"
            return {"withinSizeRange": {bound: int(values[0]) // _KB}}
    return {}


def _action(action: Action, folders: list[Folder]) -> JSON:
    """Empty where there is none."""
    match action.type:
        case "apply_label" if action.target.strip():
            return {"assignCategories": [action.target]}
        case "mark_read":
            return {"markAsRead": True}
        case "delete":  # into the deleted items
            return {"delete": True}
        case "archive" | "move_folder":
            folder = match_folder(folders, _TARGETS.get(action.type, action.target))
            # Messages in Sent and Drafts count as written by the user.
            return {"moveToFolder": folder.ref} if folder and folder.role not in (Role.SENT, Role.DRAFTS) else {}
    return {}


def _read(rule: JSON, folders: list[Folder]) -> Rule:
    """Back from what `_written` made; what somebody added in Outlook is left out."""
    name = text(rule.get("displayName")).removeprefix(_OURS)
    wanted, unwanted, actions = (rule.get(key) or {} for key in ("conditions", "exceptions", "actions"))
    conditions = [_condition(key, value, negated=False) for key, value in wanted.items() if value]
    conditions += [_condition(key, value, negated=True) for key, value in unwanted.items() if value]
    done = [one for key, value in actions.items() if value for one in _actions(key, value, folders)]
    return Rule(name, tuple(one for one in conditions if one), tuple(done))


def _condition(name: str, value: Any, *, negated: bool) -> Condition | None:
    for (field, operator), known in _TEXTS.items():
        if known == name:
            return Condition(field, operator, tuple(value), negated)  # type: ignore[arg-type]
    for field, known in _ADDRESSES.items():
        if known == name:
            emails = tuple(text(one.get("emailAddress", {}).get("address")) for one in value)
            return Condition(field, "in" if len(emails) > 1 else "equals", emails, negated)  # type: ignore[arg-type]
    if name == "hasAttachments":
        return Condition("has_attachment", "equals", ("true",), negated)
    if name == "withinSizeRange":
        low, high = value.get("minimumSize"), value.get("maximumSize")
        operator, bound = ("greater_than", low) if low else ("less_than", high)
        return Condition("size", operator, (str((bound or 0) * _KB),), negated)  # type: ignore[arg-type]
    return None


def _actions(name: str, value: Any, folders: list[Folder]) -> list[Action]:
    match name:
        case "assignCategories":
            return [Action("apply_label", text(one)) for one in value]
        case "markAsRead":
            return [Action("mark_read")]
        case "delete":
            return [Action("delete")]
        case "moveToFolder":
            folder = next((one for one in folders if one.ref == value), None)
            if folder is not None and folder.role == Role.ARCHIVE:
                return [Action("archive")]
            return [Action("move_folder", folder.name if folder else text(value))]
    return []
