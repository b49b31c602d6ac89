"""Rules as Gmail filters. Gmail knows no name, no order and no pause for a filter, and it cannot change one.

A filter of ours is recognised by a word in its negated query that occurs in no message, and which holds the rule.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from postroom.model.errors import InvalidRequest, NotFound, Unsupported
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.rule import Action, Condition, Rule, RuleSet
from postroom.providers.gmail.mail.labels import ARCHIVE, Labels, check_label
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import (
    INBOX,
    JSON,
    PROVIDER,
    STARRED,
    TRASH,
    UNITS,
    UNREAD,
    Get,
    checked_id,
    object_of,
    objects_of,
    text_of,
)
from postroom.providers.querying import gmail_words

_MARK = "postroomrule"
_MARKED = re.compile(rf"{_MARK}([A-Z2-7]+)\b")
_LONGEST = 1400
_LARGEST_RULE = 20_000  # bytes, decompressed
_ADD = {"star": STARRED, "delete": TRASH}
_REMOVE = {"mark_read": UNREAD, "archive": INBOX}
_OPERATORS = {"from": "from:", "to": "to:", "cc": "cc:", "subject": "subject:", "body": "", "list_id": "list:"}
_SIZES = {"greater_than": "larger", "less_than": "smaller"}


@dataclass
class Filters:
    client: Client
    labels: Labels

    async def listed(self) -> RuleSet:
        rules = tuple(rule for _, rule in await self._ours())
        return RuleSet(rules, is_active=bool(rules))

    async def lacking(self, rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
        known = (await self.labels.recent()).folders()
        found = {rule.name: _inexpressible(rule, known) for rule in rules}
        return {name: reasons for name, reasons in found.items() if reasons}

    async def put(self, rules: Sequence[Rule]) -> None:
        """The new ones first: a failure in between leaves a rule twice rather than not at all."""
        for name, reasons in (await self.lacking(rules)).items():
            raise InvalidRequest(
                f"Gmail cannot run the rule {name[:80]!r}: {'; '.join(reasons)}.", details={"field": "rules"}
            )
        before = await self._ours()
        kept = {rule: ref for ref, rule in before}
        for rule in rules:
            if rule not in kept:
                body = await self._compiled(rule)
                await self.client.post("settings/filters", body, units=UNITS["filter.change"])
        for ref, rule in before:
            if rule not in rules or kept[rule] != ref:
                await self._delete(ref)

    async def activate(self, active: bool) -> None:
        if not active:
            raise Unsupported(PROVIDER, "stopping rules; remove them instead")

    async def _ours(self) -> list[tuple[str, Rule]]:
        answer = await self.client.get(Get("settings/filters", UNITS["settings"]))
        read = ((text_of(one.get("id")), _rule_in(one)) for one in objects_of(answer.get("filter")))
        return [(ref, rule) for ref, rule in read if rule is not None]

    async def _delete(self, ref: str) -> None:
        try:
            await self.client.delete(f"settings/filters/{checked_id(ref, 'filter')}", units=UNITS["filter.change"])
        except NotFound:
            return

    async def _compiled(self, rule: Rule) -> JSON:
        add, remove = set[str](), set[str]()
        for action in rule.actions:
            entered, left = await self._labels_of(action)
            add |= entered
            remove |= left
        action_ids = {"addLabelIds": sorted(add), "removeLabelIds": sorted(remove)}
        return {"criteria": _criteria(rule), "action": action_ids}

    async def _labels_of(self, action: Action) -> tuple[set[str], set[str]]:
        if action.type == "apply_label":
            return {(await self.labels.made(check_label(action.target))).id}, set()
        if action.type == "move_folder":
            ref = (await self.labels.recent()).folder(action.target).ref
            return ({ref} - {ARCHIVE, INBOX}), ({INBOX} - {ref})
        return _places_of(action, "", is_inbox=False)


def server_form(rule: Rule, folders: list[Folder]) -> tuple[str, tuple[str, ...]]:
    """The filter as JSON, with the names of labels in place of their ids, and what keeps it from being written; one of
    them is empty."""
    lacking = _inexpressible(rule, folders)
    if lacking:
        return "", lacking
    add, remove = set[str](), set[str]()
    for action in rule.actions:
        found = match_folder(folders, action.target) if action.type == "move_folder" else None
        entered, left = _places_of(action, found.name if found else action.target, is_inbox=_is_inbox(found))
        add |= entered
        remove |= left
    written = {"criteria": _criteria(rule), "action": {"addLabelIds": sorted(add), "removeLabelIds": sorted(remove)}}
    return json.dumps(written, indent=2, ensure_ascii=False), ()


def _is_inbox(folder: Folder | None) -> bool:
    return folder is not None and folder.role is Role.INBOX


def _places_of(action: Action, target: str, *, is_inbox: bool) -> tuple[set[str], set[str]]:
    """What an action adds and removes, with `target` for the label or folder it names."""
    if action.type == "apply_label":
        return {target}, set()
    if action.type == "move_folder":
        return (set(), set()) if is_inbox else ({target}, {INBOX})
    return {_ADD[action.type]} if action.type in _ADD else set(), (
        {_REMOVE[action.type]} if action.type in _REMOVE else set()
    )


def _criteria(rule: Rule) -> dict[str, Any]:
    words = " ".join(_said(condition) for condition in rule.conditions if condition.field != "size")
    criteria: dict[str, Any] = {"negatedQuery": _marked(rule), **({"query": words} if words else {})}
    for condition in rule.conditions:
        if condition.field == "size":
            criteria |= {"size": int(condition.values[0]), "sizeComparison": _SIZES[condition.operator]}
    return criteria


def _inexpressible(rule: Rule, known: list[Folder]) -> tuple[str, ...]:
    conditions = [f"the condition on {one.field} ({one.operator})" for one in rule.conditions if not _can_say(one)]
    actions = [f"the action {one.type} {one.target}".rstrip() for one in rule.actions if not _can_do(one, known)]
    empty = [] if rule.conditions and rule.actions else ["it needs at least one condition and one action"]
    sizes = [one for one in rule.conditions if one.field == "size"]
    long = ["it is too long"] if not conditions and len(" ".join(map(_said, rule.conditions))) > _LONGEST else []
    long += ["it is too long"] if len(_marked(rule)) > _LONGEST else []
    return (*conditions, *actions, *empty, *(["more than one size"] if len(sizes) > 1 else []), *long[:1])


def _can_say(condition: Condition) -> bool:
    match condition.field, condition.operator:
        case "size", ("greater_than" | "less_than"):
            return not condition.negated and len(condition.values) == 1 and condition.values[0].isdecimal()
        case "has_attachment", "equals":
            return condition.values in (("true",), ("false",))
        case (("from" | "to" | "cc" | "subject" | "body" | "list_id"), ("contains" | "in" | "equals")):
            whole = condition.operator == "contains" or condition.field in ("from", "to", "cc", "list_id")
            return whole and bool(condition.values) and all(map(gmail_words.phrase, condition.values))
    return False


def _said(condition: Condition) -> str:
    if condition.field == "has_attachment":
        wanted = (condition.values == ("true",)) is not condition.negated
        return gmail_words.HAS_ATTACHMENT if wanted else f"-{gmail_words.HAS_ATTACHMENT}"
    if condition.field not in _OPERATORS:
        return ""
    phrases = [gmail_words.phrase(value, _OPERATORS[condition.field]) for value in condition.values]
    said = phrases[0] if len(phrases) == 1 else "{" + " ".join(phrases) + "}"
    return f"-{said}" if condition.negated else said


def _can_do(action: Action, known: list[Folder]) -> bool:
    """A forward never: everything that is sent passes the gate."""
    if action.type == "apply_label":
        try:
            return bool(check_label(action.target))
        except InvalidRequest:
            return False
    if action.type == "move_folder":
        folder = match_folder(known, action.target)
        return folder is not None and folder.role not in (Role.SENT, Role.DRAFTS)
    return action.type in _ADD or action.type in _REMOVE


def _marked(rule: Rule) -> str:
    packed = zlib.compress(json.dumps(asdict(rule), separators=(",", ":")).encode(), 9)
    return _MARK + base64.b32encode(packed).decode().rstrip("=")


def _rule_in(entry: JSON) -> Rule | None:
    found = _MARKED.search(text_of(object_of(entry.get("criteria")).get("negatedQuery")))
    if found is None:
        return None
    try:
        packed = base64.b32decode(found[1] + "=" * (-len(found[1]) % 8))
        noted = json.loads(zlib.decompressobj().decompress(packed, _LARGEST_RULE))
        conditions = tuple(
            Condition(one["field"], one["operator"], tuple(one["values"]), one["negated"])
            for one in noted["conditions"]
        )
        return Rule(noted["name"], conditions, tuple(Action(one["type"], one["target"]) for one in noted["actions"]))
    except (binascii.Error, zlib.error, ValueError, KeyError, TypeError):
        return None
