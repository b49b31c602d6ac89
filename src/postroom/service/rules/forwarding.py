"""A rule's forward: a send like any other, through the gate, once per message and address."""

from __future__ import annotations

import hashlib

from postroom.model.address import Address
from postroom.model.errors import PostroomError
from postroom.model.message import Envelope
from postroom.model.rule import Action, Definition
from postroom.safety.policy import Gate
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import error_view
from postroom.service.rules.planning import mail_key
from postroom.service.rules.views import RunItem
from postroom.service.sending import send as sending
from postroom.service.sending.facts import policy_for
from postroom.service.sending.order import Wishes
from postroom.service.views import ErrorView, SendView
from postroom.service.writing.composing import ForwardRequest

_ON_ITS_WAY = ("sent", "already_executed", "held", "scheduled", "needs_approval", "unknown", "needs_human")


async def forward(
    gateway: Gateway,
    account: Account,
    definition: Definition,
    action: Action,
    email_id: str,
    envelope: Envelope,
    *,
    scheduled: bool,
) -> RunItem:
    """The gate decides; what it wants a person to see waits for that person in the outbox."""
    name, mail, target = definition.rule.name, mail_key(envelope), Address(action.target).key
    wishes = Wishes(
        confirm=True,
        idempotency_key=_key(account.name, name.casefold(), mail, target),
        require_approval=_needs_person(gateway, account, scheduled=scheduled),
        actor="rule",
    )
    request = ForwardRequest(to=(action.target,))
    try:
        order = await sending.order_forward(gateway, email_id, request, wishes, account.name)
        view = await sending.send(gateway, order)
    except PostroomError as error:
        if error.reason != "idempotency_key_in_progress":
            return RunItem(email_id, False, error=error_view(error))
        # An earlier run died while it sent this: what became of it is being found out, and it is not sent again.
        view = SendView("unknown", account.name, error.message, send_id=error.details["send_id"])
    if view.status in _ON_ITS_WAY:
        note = gateway.store.plans.note_forward
        await gateway.in_thread(note, account.name, name, mail, target, view.send_id)
    return _item(email_id, view)


def _item(email_id: str, view: SendView) -> RunItem:
    if view.status in _ON_ITS_WAY or view.status == "dev_mode":
        return RunItem(email_id, True, send_status=view.status, send_id=view.send_id)
    refused = view.error or ErrorView("PERMISSION_DENIED", view.message)
    return RunItem(email_id, False, error=refused, send_status=view.status, send_id=view.send_id)


def _needs_person(gateway: Gateway, account: Account, *, scheduled: bool) -> bool:
    """A preview in the conversation is shown to somebody who then confirms; in a run nobody is there to do so. Only
    where the operator lets a caller's confirmation suffice, and has given it the tools that send, does running the
    plan count as one."""
    may_send = "send" in gateway.settings.server.toolsets
    return scheduled or not may_send or policy_for(gateway, account).gate is not Gate.CONFIRM


def _key(*parts: str) -> str:
    return "rule-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:48]
