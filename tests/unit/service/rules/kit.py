"""Local mailboxes with a few mails in them, and rules for these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.contract.mails import mail
from tests.gate.rigs import GateRig

from postroom.providers.layers.layered import unwrapped
from postroom.providers.local.provider import NewMail
from postroom.service.reading import search
from postroom.service.rules import rules
from postroom.service.rules.views import PlanView, RuleView

NEWS = "{field: from, operator: equals, value: news@circuit.example}"


def rule(*actions: str, conditions: str = NEWS, more: str = "") -> str:
    return f"version: 1\nname: the rule\nconditions: [{conditions}]\nactions: [{', '.join(actions)}]\n{more}\n"


async def fill(gate: GateRig, subjects: Sequence[str], account: str = "alice", folder: str = "INBOX") -> None:
    mailbox: Any = unwrapped((await gate.gateway.accounts.open(account)).mailbox)
    raws = [mail(one.replace(" ", "-"), subject=one, sender="news@circuit.example") for one in subjects]
    await mailbox.add_messages(NewMail(raw, folder) for raw in raws)


async def planned(gate: GateRig, text: str) -> PlanView:
    view = await rules.create_rule(gate.gateway, text, by_operator=True)
    assert isinstance(view, PlanView)
    return view


async def saved(gate: GateRig, text: str) -> RuleView:
    view = await rules.create_rule(gate.gateway, text, dry_run=False, by_operator=True)
    assert isinstance(view, RuleView)
    return view


async def within(gate: GateRig, mailbox: str, account: str = "alice") -> set[str]:
    page = await search.list_emails(gate.gateway, account=account, mailbox=mailbox, limit=100)
    return {row.subject for row in page.results}
