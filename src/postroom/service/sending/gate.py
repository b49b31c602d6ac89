"""The gate: everything that is sent passes `send`, in ten numbered steps.

Steps seven to ten also run for what is sent later (approved, held, scheduled, retried), in `dispatch`, which checks
dev mode, read-only mode and policy again: what was allowed yesterday may be blocked today.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from postroom.mime.visible import visible_line
from postroom.model.address import masked_few
from postroom.model.errors import Conflict, PermissionDenied
from postroom.safety import limits
from postroom.safety.judge import Allow, Ask, Deny, Facts, NeedsHuman, judge, policy_denial
from postroom.safety.policy import Policy
from postroom.service.draft_locks import unchanging
from postroom.service.gateway import Gateway
from postroom.service.sending import dispatch
from postroom.service.sending.approval import handwritten, requests
from postroom.service.sending.auditing import Record, audited
from postroom.service.sending.facts import facts_for, policy_for
from postroom.service.sending.letter import preview_of, question_text
from postroom.service.sending.order import Order
from postroom.service.sending.receipts import already, by_code, receipt
from postroom.service.sending.saved_drafts import check_as_read
from postroom.service.views import SendView
from postroom.store import Reservation, Send, State
from postroom.store.sends.drafts import taken

_SHOW = (
    "Nothing was sent. Show this preview to the user; to send exactly this, repeat the call with confirm=true within "
    "ten minutes."
)
_SENT_BEFORE = (
    "Nothing was sent: exactly this message has been sent before. Call list_outbox to see it. If the user really wants "
    "to send it twice, call with confirm=false first, then confirm."
)
_CHANGED = (
    "The message was changed while the person was being asked about it. Nothing was sent; repeat the call to ask about "
    "the current version."
)


@dataclass(frozen=True, slots=True)
class Question:
    """What the person in front of the client is asked, and the send that a yes releases."""

    text: str
    send_id: str


async def send(gateway: Gateway, order: Order) -> SendView:
    """Send an order, or report what is missing. The result is audited once."""
    action = gateway.settings.traits.audit_names.get(order.tool, order.tool)
    return await audited(gateway, Record.of(order, gateway.now(), action), _alone(gateway, order))


async def _alone(gateway: Gateway, order: Order) -> SendView:
    async with gateway.one_at_a_time(order.digest):  # a twin in the same moment sees what became of the first
        return await _pass(gateway, order)


async def _pass(gateway: Gateway, order: Order) -> SendView:
    policy = policy_for(gateway, order.account, require_approval=order.wishes.require_approval)
    limits.check(order.draft, max_bytes=policy.max_bytes, needs_subject=order.needs_subject)  # 1 validate
    if gateway.settings.safety.dev_mode:  # 2 dev mode
        return _logged_only(order)
    denied = policy_denial(order.draft, policy)  # 3 policy
    if denied is not None:
        raise _refusal(denied)
    earlier = await _earlier(gateway, order)  # 4 idempotency
    if earlier is not None:
        return earlier
    order.account.check_can_send()  # 1 again, as below: of what was sent before, the result is returned
    limits.check_schedule(order.wishes.send_at, gateway.now())  # a repeated call may come after its time
    asked = await _asked(gateway, order)
    facts = await facts_for(gateway, order, policy)  # 5 duplicate warning, one of the facts
    decision = judge(order.draft, policy, facts)  # 6 human
    if isinstance(decision, Deny):  # by the person who was asked: policy had its say above
        assert asked is not None
        await _drop_question(gateway, asked)
        raise _refusal(decision)
    if isinstance(decision, NeedsHuman) and decision.ask is Ask.APPROVAL:
        by_approval = handwritten.release if handwritten.may_release(gateway, order) else requests.ask
        async with _draft_as_read(gateway, order):
            return await by_approval(gateway, order, decision.findings)
    if isinstance(decision, NeedsHuman) or not (asked is None or asked.state is State.PREPARED):
        return await _preview(gateway, order, decision)
    on_preview = _rests_on_preview(order, policy, facts)
    reserved = await _reserved(gateway, order, asked, on_preview)  # 7 rate limit and key, on 8 bytes on disk
    if reserved.is_late:
        return await _preview(gateway, order, decision)
    if reserved.replayed:
        return await already(gateway, reserved.send)
    done = await dispatch.go_on(gateway, reserved.send)  # 9 submit, 10 settle
    return await receipt(gateway, done, findings=decision.findings)


async def question(gateway: Gateway, order: Order) -> Question | None:
    """The question for the person in front of the client, or None where the gate wants nothing asked (yet).

    It names the send it will release: an answer counts for that one only, and only once. A retried call that still
    means exactly that send (content, time, key) is asked the same question.
    """
    if gateway.settings.safety.dev_mode or not (order.wishes.can_elicit and order.wishes.confirm):
        return None
    policy = policy_for(gateway, order.account, require_approval=order.wishes.require_approval)
    if not policy.gate.asks_in_client:
        return None
    limits.check(order.draft, max_bytes=policy.max_bytes, needs_subject=order.needs_subject)
    if await _earlier(gateway, order) is not None:
        return None
    order.account.check_can_send()
    limits.check_schedule(order.wishes.send_at, gateway.now())
    decision = judge(order.draft, policy, await facts_for(gateway, order, policy))
    if not isinstance(decision, NeedsHuman):  # a client that can ask is never sent elsewhere
        return None
    await gateway.in_thread(
        gateway.store.rate.check, order.account.name
    )  # nobody is asked about what could not be sent
    prepared = await dispatch.asked_about(gateway, order) or await dispatch.prepare(gateway, order)
    text = await gateway.in_thread(question_text, order, decision.findings, prepared.send_id)
    return Question(text, prepared.send_id)


def _refusal(denied: Deny) -> PermissionDenied:
    return PermissionDenied(denied.reason, reason="policy_denied", details={"by_person": denied.by_person})


def _logged_only(order: Order) -> SendView:
    shown = masked_few(order.draft.recipients)
    return SendView(
        status="dev_mode",
        account=order.account.name,
        message=f"[DEV_MODE] Send logged but not executed. To: {shown}, Subject: {visible_line(order.draft.subject)}",
    )


async def _earlier(gateway: Gateway, order: Order) -> SendView | None:
    """What a repeated call returns: the send its key stands for, or the one a person was asked about."""
    wishes = order.wishes
    if not wishes.confirm:
        return None
    if wishes.idempotency_key:
        held = await gateway.in_thread(
            gateway.store.keys.look_up, order.account.name, order.tool, wishes.idempotency_key, order.digest
        )
        if held is not None and held.state is not State.AWAITING_APPROVAL:  # that one is shown with its letter
            return await already(gateway, held)
    standing = await requests.standing(gateway, order)
    if standing is None:
        await _check_draft_is_free(gateway, order)
    return standing


async def _check_draft_is_free(gateway: Gateway, order: Order) -> None:
    """A draft is sent once: not now and, because it was scheduled before, again tomorrow."""
    send = await gateway.in_thread(gateway.store.outbox.of_draft, order.account.name, order.draft_ref)
    if send is not None:
        raise taken(send)


async def _asked(gateway: Gateway, order: Order) -> Send | None:
    """The send that the person's answer is about. Conflict when the order has become another one since."""
    answer = order.wishes.answer
    if answer is None:
        return None
    asked = await gateway.in_thread(gateway.store.outbox.get, answer.send_id)
    if (asked.account, asked.tool, asked.content_sha256) != (order.account.name, order.tool, order.digest) or (
        asked.idempotency_key != order.wishes.idempotency_key
    ):
        await _drop_question(gateway, asked)
        raise Conflict(_CHANGED)
    return asked


def _rests_on_preview(order: Order, policy: Policy, facts: Facts) -> bool:
    """A preview releases one send: whoever reserves it takes the preview, and a second call finds none."""
    return facts.previewed and isinstance(judge(order.draft, policy, replace(facts, previewed=False)), NeedsHuman)


async def _reserved(gateway: Gateway, order: Order, asked: Send | None, takes_preview: bool) -> Reservation:
    """From then on the draft that it came from cannot be changed here."""
    async with _draft_as_read(gateway, order):
        return await dispatch.reserve(gateway, order, asked, takes_preview)


@asynccontextmanager
async def _draft_as_read(gateway: Gateway, order: Order) -> AsyncIterator[None]:
    """The saved draft of the order, if it has one, is as it was read, and stays so."""
    if not order.draft_ref:
        yield
        return
    async with unchanging(gateway, order.account.name, order.draft_ref):
        await check_as_read(gateway, order)
        yield


async def _drop_question(gateway: Gateway, asked: Send) -> None:
    """An answer that releases nothing leaves nothing behind."""
    if asked.state is State.PREPARED:
        await gateway.in_thread(gateway.store.outbox.withdraw, asked.send_id)


async def _preview(gateway: Gateway, order: Order, decision: NeedsHuman | Allow) -> SendView:
    """Show it. A confirmation of what was sent before is most likely a retry: it must be previewed again first."""
    is_repeat = order.wishes.confirm and await dispatch.has_left(gateway, order)
    if not is_repeat:
        await gateway.in_thread(gateway.store.previews.remember, order.account.name, order.digest)
    return SendView(
        status="preview",
        account=order.account.name,
        message=_SENT_BEFORE if is_repeat else _SHOW,
        warnings=tuple(finding.message for finding in decision.findings),
        findings=by_code(decision.findings),
        preview=await gateway.in_thread(preview_of, order),
    )
