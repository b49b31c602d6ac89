"""Rules as a Sieve script (RFC 5228), and back: each rule is JSON in a comment before its compiled form.

A server sees a message once, when it arrives. Rules about older messages, folders or labels cannot be expressed, and
a forward is never left to the server: everything that is sent passes the gate.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from postroom.model.errors import InvalidRequest
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.rule import Action, Condition, Rule
from postroom.providers.keywords import keyword_of

_MARK = "# rule: "
_EXTENSIONS = {"addflag": "imap4flags", "body": "body"}  # by the word that needs them
_HEADERS = {"from": "from", "to": "to", "cc": "cc", "subject": "subject", "list_id": "list-id"}
_MATCH = {"equals": ":is", "in": ":is", "contains": ":contains", "matches": ":matches"}
_SIZES = {"greater_than": ":over", "less_than": ":under"}
_FLAGS = {"mark_read": "\\Seen", "star": "\\Flagged"}
_ROLES = {"archive": Role.ARCHIVE, "delete": Role.TRASH}


def compiled(rules: Sequence[Rule], folders: list[Folder]) -> str:
    """InvalidRequest when a rule cannot be expressed; `inexpressible` says which parts."""
    for rule in rules:
        if lacking := inexpressible(rule, folders):
            raise InvalidRequest(
                f"The mail server cannot run the rule {rule.name[:80]!r}: {'; '.join(lacking)}.",
                details={"field": "rules"},
            )
    return "\n".join([_required(rules, folders), *(_rule(rule, folders) for rule in rules), ""])


def server_form(rule: Rule, folders: list[Folder]) -> tuple[str, tuple[str, ...]]:
    """The script of this rule alone, and what keeps it from being written; one of them is empty."""
    lacking = inexpressible(rule, folders)
    return ("" if lacking else compiled([rule], folders)), lacking


def rules_of(script: str) -> tuple[Rule, ...]:
    lines = [line.removeprefix(_MARK) for line in script.splitlines() if line.startswith(_MARK)]
    return tuple(_read(json.loads(line)) for line in lines)


def inexpressible(rule: Rule, folders: list[Folder]) -> tuple[str, ...]:
    """The parts of the rule that Sieve cannot express, as text."""
    conditions = [f"the condition on {test.field} ({test.operator})" for test in rule.conditions if not _test(test)]
    actions = [
        f"the action {action.type} {action.target}".rstrip() for action in rule.actions if not _command(action, folders)
    ]
    empty = [] if rule.conditions and rule.actions else ["it needs at least one condition and one action"]
    return (*conditions, *actions, *empty)


def _required(rules: Sequence[Rule], folders: list[Folder]) -> str:
    """What the rules use, so that a server that lacks one extension can run the others; and `fileinto`, which every
    server has: without a line that says something, no rules at all could not be told from rules that are off."""
    said = [_command(action, folders) for rule in rules for action in rule.actions]
    said += [_bare_test(condition) for rule in rules for condition in rule.conditions]
    used = {one.partition(" ")[0] for one in said}
    needed = ["fileinto", *(extension for word, extension in _EXTENSIONS.items() if word in used)]
    return f"require [{', '.join(map(_string, needed))}];"


def _rule(rule: Rule, folders: list[Folder]) -> str:
    tests = ", ".join(_test(condition) for condition in rule.conditions)
    commands = sorted(_command(action, folders) for action in rule.actions)  # addflag before the fileinto it is for
    return "\n".join(
        [_MARK + json.dumps(asdict(rule)), f"if allof({tests}) {{", *(f"  {one}" for one in commands), "}"]
    )


def _test(condition: Condition) -> str:
    """Empty where there is none."""
    said = _bare_test(condition)
    return f"not {said}" if said and condition.negated else said


def _bare_test(condition: Condition) -> str:
    match condition.field, condition.operator:
        case "size", ("greater_than" | "less_than") if condition.values and condition.values[0].isdecimal():
            return f"size {_SIZES[condition.operator]} {condition.values[0]}"
        case "body", "contains":
            return f"body :text :contains {_strings(condition.values)}"
        case (("from" | "to" | "cc"), ("equals" | "in" | "matches")):
            return f'address :all {_MATCH[condition.operator]} "{condition.field}" {_strings(condition.values)}'
        case (("from" | "to" | "cc" | "subject" | "list_id"), ("equals" | "in" | "matches" | "contains")):
            return f'header {_MATCH[condition.operator]} "{_HEADERS[condition.field]}" {_strings(condition.values)}'
    return ""


def _command(action: Action, folders: list[Folder]) -> str:
    """Empty where there is none."""
    if action.type in _FLAGS:
        return f"addflag {_string(_FLAGS[action.type])};"
    if action.type == "apply_label":
        return f"addflag {_string(keyword_of(action.target))};"
    wanted = _ROLES.get(action.type, action.target if action.type == "move_folder" else "")
    folder = match_folder(folders, wanted) if wanted else None
    if folder is None or folder.role in (Role.SENT, Role.DRAFTS):  # messages there count as written by the user
        return ""
    return f"fileinto {_string(folder.ref)};"


def _strings(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_string, values))}]"


def _string(value: str) -> str:
    """A line break would become part of the comparison, and is hard to see in the script."""
    if not value or not all(char.isprintable() for char in value):
        raise InvalidRequest("Text in a rule must be a single line without control characters.")
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _read(noted: dict[str, object]) -> Rule:
    conditions = tuple(
        Condition(one["field"], one["operator"], tuple(one["values"]), one["negated"])
        for one in noted["conditions"]  # type: ignore[attr-defined]
    )
    actions = tuple(Action(one["type"], one["target"]) for one in noted["actions"])  # type: ignore[attr-defined]
    return Rule(str(noted["name"]), conditions, actions)
