"""The outcome of a submission and what follows from it: the states after SENDING."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from postroom.mime.read.parse import parse
from postroom.model.address import Address
from postroom.model.errors import InternalError, PostroomError
from postroom.model.native import thaw
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.model.unsubscribing import TOOL
from postroom.service.gateway import Account, Gateway
from postroom.service.sending import staging
from postroom.service.sending.last_look import as_submitted
from postroom.service.sending.order import likeness
from postroom.service.sending.originals import mark_original
from postroom.service.sending.waiting import (
    FIRST_RETRY,
    GIVE_UP_SECONDS,
    NotNow,
    account_of,
    answered,
    ask_a_person,
    has_waited_long,
    park,
    was_promised,
)
from postroom.store import Send, State
from postroom.store.sends.pauses import Pause
from postroom.store.vault.folder import DONE

# As a mail server does: growing pauses, for days. Then a person is asked.
_LONGEST_RETRY = 4 * 3600.0


async def settle(gateway: Gateway, send: Send, outcome: SubmitOutcome) -> Send:
    advance, told = gateway.store.outbox.advance, _told(send, outcome)
    if outcome.state == "accepted":
        return await finish(gateway, await gateway.in_thread(_accept, gateway, send, told))
    if outcome.state == "rejected":
        end = State.NEEDS_HUMAN if was_promised(send) else State.REJECTED
        ended = await gateway.in_thread(advance, send.send_id, expect=State.SENDING, to=end, outcome=told)
        return ended if end is State.NEEDS_HUMAN else await _cleared(gateway, ended)
    if outcome.state == "retryable":
        return await _try_later(gateway, send, outcome)
    unknown = await gateway.in_thread(advance, send.send_id, expect=State.SENDING, to=State.UNKNOWN, outcome=told)
    return await reconcile(gateway, unknown)


def _accept(gateway: Gateway, send: Send, told: dict[str, object]) -> Send:
    accepted = gateway.store.outbox.advance(send.send_id, expect=send.state, to=State.ACCEPTED, outcome=told)
    gateway.store.pauses.login_worked(send.account)
    return accepted


async def _try_later(gateway: Gateway, send: Send, outcome: SubmitOutcome) -> Send:
    """Provably not accepted: again after a pause. A refused login pauses the whole account."""
    now = gateway.store.clock.wall()
    pause = min(max(outcome.retry_after or 0, FIRST_RETRY * 2 ** min(send.attempt - 1, 16)), _LONGEST_RETRY)
    if outcome.login_refused:
        refused = await gateway.in_thread(gateway.store.pauses.login_refused, send.account, outcome.reason)
        pause = refused.probe_at - now
    waiting = await gateway.in_thread(
        gateway.store.outbox.advance,
        send.send_id,
        expect=send.state,
        to=State.RETRYABLE,
        outcome=_told(send, outcome),
        wake_at=now + pause,
    )
    if not await has_waited_long(gateway, waiting):
        return waiting
    days = round(GIVE_UP_SECONDS / 86_400)
    return await ask_a_person(gateway, waiting, f"It could not be submitted for {days} days. {outcome.reason}".strip())


async def reconcile(gateway: Gateway, send: Send) -> Send:
    """Look for evidence of whether it was sent. Without any, a person decides."""
    if send.state is State.UNKNOWN:
        send = await gateway.in_thread(
            gateway.store.outbox.advance, send.send_id, expect=State.UNKNOWN, to=State.RECONCILING
        )
    try:
        account = await account_of(gateway, send)
        if isinstance(account, Pause):
            return await park(gateway, send, account.probe_at - gateway.store.clock.wall(), account.reason)
        frozen = await gateway.in_thread(gateway.store.outbox.request, send.send_id)
        others = await gateway.in_thread(partial(gateway.store.outbox.sent_refs, send.account, without=send.send_id))
        outcome = await _evidence(account, send, replace(frozen, others_sent=others))
    except NotNow as later:
        return await park(gateway, send, FIRST_RETRY, later.reason.message)
    except PostroomError as error:
        return await park(gateway, send, FIRST_RETRY, error.message)
    if outcome.state in ("accepted", "retryable"):
        return await settle(gateway, send, outcome)
    return await gateway.in_thread(
        gateway.store.outbox.advance,
        send.send_id,
        expect=State.RECONCILING,
        to=State.NEEDS_HUMAN,
        outcome=_told(send, outcome),
    )


async def _evidence(account: Account, send: Send, frozen: SubmitRequest) -> SubmitOutcome:
    try:
        request = as_submitted(send, frozen)
    except InternalError as error:  # somebody changed the frozen action: nothing is left to look for
        return SubmitOutcome("unknown", reason=error.message)
    return await answered(account.transport_for(request.native).reconcile(request))


async def finish(gateway: Gateway, send: Send) -> Send:
    """Accepted: remember whom and what was written, clear the vault, mark the message it answers, close the row."""

    def remember() -> SubmitRequest:
        frozen = gateway.store.outbox.request(send.send_id)
        gateway.store.duplicates.remember(send.account, _likeness(send, frozen))
        if send.tool != TOOL and send.kind != "vacation":  # whom nobody chose to write to is not known by it
            gateway.store.recipients.remember(send.account, _accepted(send))
        path = gateway.vault.find(f"{send.kind}_{send.approval_id}.md") if send.approval_id else None
        if path is not None:
            with suppress(InternalError):  # a vault that takes no files must not keep a sent message from being done
                gateway.vault.claim(path, DONE)
        return frozen

    frozen = await gateway.in_thread(remember)
    with suppress(PostroomError):  # an account that cannot be opened now
        await staging.tidied(gateway, await gateway.accounts.open(send.account), send, frozen)
    told = _with_warning(send, await mark_original(gateway, send))
    return await gateway.in_thread(
        gateway.store.outbox.advance, send.send_id, expect=State.ACCEPTED, to=State.DONE, outcome=told, staged_ref=""
    )


def _likeness(send: Send, request: SubmitRequest) -> str:
    if send.native:
        with suppress(ValueError):  # it was sent, even if its row cannot be read
            action = thaw(request.raw)
            return likeness(action.everyone.to, action.subject, action.html or action.text)
    parsed = parse(request.raw)
    return likeness(parsed.to, parsed.subject, parsed.body.html or parsed.body.text)


async def _cleared(gateway: Gateway, send: Send) -> Send:
    """Refused for good: remove what was staged for it, with a warning where that failed."""
    return replace(send, outcome=_with_warning(send, await staging.cleared(gateway, send)))


def _with_warning(send: Send, warning: str) -> dict[str, object]:
    told = send.outcome or {}
    return {**told, "warnings": [*told.get("warnings", ()), warning]} if warning else told


def _accepted(send: Send) -> list[str]:
    """Those of its recipients whom the provider took the message for; a person's decision that it was sent names
    nobody."""
    taken = keys_of((send.outcome or {}).get("accepted", ()))
    return [recipient for recipient in send.recipients if Address(recipient).key in taken]


def keys_of(emails: Iterable[str]) -> set[str]:
    return {Address(email).key for email in emails}


def _told(send: Send, outcome: SubmitOutcome) -> dict[str, object]:
    """Recipients of an earlier attempt stay accepted, whatever the outcome of the last one."""
    before = send.outcome or {}
    earlier = before.get("accepted", ())
    return {
        "accepted": list(dict.fromkeys([*earlier, *outcome.accepted])),
        "refused": dict(outcome.refused),
        "message_ref": outcome.message_ref or before.get("message_ref", ""),
        "thread_ref": outcome.thread_ref or before.get("thread_ref", ""),
        "reason": outcome.reason,
        "warnings": list(outcome.warnings),
        **({"error": _kept(outcome.error)} if outcome.error else {}),
    }


def _kept(error: PostroomError) -> dict[str, object]:
    """What a dialect chooses its words by. Details of errors never contain message content."""
    return {"code": error.code, "details": error.details}
