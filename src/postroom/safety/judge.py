"""The judgement: (Draft, Policy, Facts) -> Allow | NeedsHuman | Deny. Pure, and tested as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from postroom.mime.visible import visible_email
from postroom.model.address import Address, masked
from postroom.model.draft import Draft
from postroom.model.vacation import EVERYONE
from postroom.safety.policy import Gate, Policy

Kind = Literal["email_send", "email_reply", "email_forward", "unsubscribe", "vacation"]
Answer = Literal["accepted", "declined", "dismissed"]


class Ask(StrEnum):
    """How a person is to be asked."""

    PREVIEW = "preview"
    ELICIT = "elicit"
    APPROVAL = "approval"


_NOBODY = Address("")


_REPEATED = "A message with the same recipients, subject and opening was just sent."
_REPEATED_OF = {
    "unsubscribe": "A request to unsubscribe was just made at this address.",
    "vacation": "The same vacation reply was just switched on.",
}
_TO_EVERYBODY = "It goes to everybody who writes to this mailbox."


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about this request when the judge looks at it."""

    kind: Kind = "email_send"
    confirm: bool = False
    previewed: bool = False  # exactly this content, within ten minutes
    can_elicit: bool = False
    answer: Answer | None = None  # to a question about exactly this content
    approved: bool = False  # an approval that covers exactly this content was taken
    known: frozenset[str] = frozenset()  # Address.key of recipients this account has written to before
    own: Address = _NOBODY  # the account's own address; an alias that a tool made is none
    is_shared: bool = False  # the mailbox is somebody else's, and the caller named it: who writes there is not oneself
    duplicate: bool = False
    unreachable: tuple[str, ...] = ()  # recipients that the provider says it would refuse


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should know before deciding: a stable code and a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Allow:
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class NeedsHuman:
    ask: Ask
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Deny:
    """`by_person`: refused by a person who was asked, not by policy."""

    reason: str
    by_person: bool = False


Decision = Allow | NeedsHuman | Deny


def judge(draft: Draft, policy: Policy, facts: Facts) -> Decision:
    """Policy first, then approval, as strict as the gate requires."""
    denied = policy_denial(draft, policy)
    if denied is not None:
        return denied
    found = findings(draft, policy, facts)
    if not facts.confirm:
        return NeedsHuman(Ask.PREVIEW, found)
    if facts.answer == "declined":
        return Deny("The person who was asked declined. Do not send this; ask them what to change.", by_person=True)
    if facts.answer == "dismissed":
        return Deny("The question was closed without an answer. Nothing was sent; ask the user whether to send it.")
    ask = _still_needed(policy.gate, facts, strangers(draft, policy, facts))
    return Allow(found) if ask is None else NeedsHuman(ask, found)


def _still_needed(gate: Gate, facts: Facts, unknown: tuple[Address, ...]) -> Ask | None:
    """What is missing for this gate; None when nothing is. An approval satisfies every gate."""
    if facts.approved:
        return None
    if gate is Gate.APPROVAL:
        return Ask.APPROVAL
    if gate is Gate.CONFIRM:
        return None
    if gate is Gate.PREVIEW:
        return None if facts.previewed else Ask.PREVIEW
    if facts.can_elicit:
        return None if facts.answer == "accepted" else Ask.ELICIT
    if gate is Gate.ELICIT or unknown:
        return Ask.APPROVAL
    return None if facts.previewed else Ask.PREVIEW


def policy_denial(draft: Draft, policy: Policy) -> Deny | None:
    return policy_denial_of([address.email for address in draft.recipients], policy)


def policy_denial_of(recipients: Sequence[str], policy: Policy) -> Deny | None:
    """The lists always decide, also for what was approved yesterday and is sent today."""
    for address in map(Address, recipients):
        if address.key == EVERYONE.key and (policy.allow or policy.block):
            return Deny(
                "A vacation reply goes to everybody who writes, so the operator's recipient lists "
                "(safety.allow_recipients, safety.block_recipients) cannot be applied to it. The user can switch it on "
                "at the provider."
            )
        if not policy.can_judge(address):
            return Deny(
                f"{masked(address.email)} contains a route to another server before the @ (such as % or !), so the "
                "operator's recipient lists cannot be applied to it. Use the final address instead."
            )
        if policy.blocks(address):
            return Deny(f"{masked(address.email)} is on the operator's block list (safety.block_recipients).")
        if not policy.allows(address):
            return Deny(f"{masked(address.email)} is not on the operator's allow list (safety.allow_recipients).")
    return None


def strangers(draft: Draft, policy: Policy, facts: Facts) -> tuple[Address, ...]:
    """Recipients never written to before and vouched for by nobody, and those of whom nobody can know it."""
    familiar = facts.known if facts.is_shared else facts.known | {facts.own.key}
    return tuple(
        address
        for address in draft.recipients
        if address.is_routed or not (address.key in familiar or policy.vouches_for(address))
    )


def findings(draft: Draft, policy: Policy, facts: Facts) -> tuple[Finding, ...]:
    found = []
    if facts.duplicate:
        found.append(Finding("duplicate", _REPEATED_OF.get(facts.kind, _REPEATED)))
    unknown = strangers(draft, policy, facts)
    if unknown:
        names = f"Never written to before: {_some([address.email for address in unknown])}."
        found.append(Finding("new_recipient", _TO_EVERYBODY if facts.kind == "vacation" else names))
    if facts.unreachable:
        found.append(
            Finding("unreachable", f"This account cannot reach {_some(facts.unreachable)}: mail would be refused.")
        )
    outside = [address for address in draft.recipients if address.is_routed or address.domain != facts.own.domain]
    if facts.kind == "email_forward" and facts.own.domain and outside:
        found.append(Finding("external_forward", f"Forwards a received message outside {facts.own.domain}."))
    if len(draft.recipients) > 20:
        found.append(Finding("many_recipients", f"Goes to {len(draft.recipients)} people."))
    return tuple(found)


def _some(emails: Sequence[str]) -> str:
    return ", ".join(map(visible_email, emails[:5])) + (", …" if len(emails) > 5 else "")
