"""The actions of a rule as changes to messages, checked against the account before anything is planned or done."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.mime.clean import clean_line
from postroom.model.errors import InternalError, InvalidRequest
from postroom.model.folder import Role
from postroom.model.message import Envelope
from postroom.model.query.tree import Flag
from postroom.model.rule import Action, Rule
from postroom.service.accounts.folders import folders_now, pick_folder
from postroom.service.gateway import Account
from postroom.service.organising.batch import Change, Plan
from postroom.service.organising.changes import check_label, labelling, marking, moving
from postroom.service.organising.places import Places

_FLAGS: dict[str, Flag] = {"mark_read": "read", "mark_unread": "unread", "star": "starred"}
_ROLES = {"archive": Role.ARCHIVE, "delete": Role.TRASH}


@dataclass(frozen=True, slots=True)
class Step:
    """One action, with its position in the rule. A forward has no change: it goes through the gate."""

    position: int
    action: Action
    change: Change | None

    def alters(self, envelope: Envelope) -> bool:
        return self.change is None or self.change.alters(envelope)


async def steps_of(account: Account, rule: Rule) -> list[Step]:
    """In the order they are done in: what moves a message comes last. InvalidRequest or Unsupported where one of them
    cannot be done in this account."""
    places = Places(await folders_now(account))
    steps = [Step(at, action, await _change(account, places, action)) for at, action in enumerate(rule.actions)]
    if any(step.change is None for step in steps):
        _ = account.transport  # Unsupported where nothing can be sent
    await _check_labels(account, rule)
    return sorted(steps, key=lambda step: (step.change is not None and step.change.takes_away, step.position))


def plan_of(action: Action) -> Plan:
    """Looked up when it is done, not before: the step before it may have made a folder."""

    async def plan(account: Account) -> Change:
        change = await _change(account, Places(await folders_now(account)), action)
        if change is None:
            raise InternalError("A forward is a send and no change to a message.")
        return change

    return plan


async def _change(account: Account, places: Places, action: Action) -> Change | None:
    if action.type == "forward":
        return None
    if action.type in _FLAGS:
        return marking(_FLAGS[action.type])
    if action.type in ("apply_label", "remove_label"):
        check_label(action.target, is_new=action.type == "apply_label")
        _ = account.labels  # Unsupported where there are none
        return labelling(action.target, action.type == "apply_label")
    target = places.with_role(_ROLES[action.type]) if action.type in _ROLES else None
    target = target or pick_folder(account, places.folders, _ROLES.get(action.type, action.target))
    places.require_open_to_all(target)
    return moving("delete" if action.type == "delete" else "move", places, target)


async def _check_labels(account: Account, rule: Rule) -> None:
    """A label that the rule itself applies may be new; one that it looks for or removes must be known."""
    applied = {action.target.casefold() for action in rule.actions if action.type == "apply_label"}
    looked_for = [
        value
        for condition in rule.conditions
        if condition.field == "labels" and condition.operator != "matches" and not condition.negated
        for value in condition.values
    ]
    removed = [action.target for action in rule.actions if action.type == "remove_label"]
    wanted = [name for name in (*looked_for, *removed) if name.casefold() not in applied]
    if not wanted:
        return
    known = await account.labels.labels()
    missing = [name for name in wanted if name.casefold() not in {label.casefold() for label in known}]
    if missing:
        names = ", ".join(clean_line(label) for label in known[:30]) or "none yet"
        raise InvalidRequest(
            f"The rule names the label {missing[0][:80]!r}, which does not exist in account {account.name}. "
            f"Labels: {names}.",
            details={"field": "rule_yaml", "label": missing[0][:80]},
        )
