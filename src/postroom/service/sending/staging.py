"""Putting a message where its provider submits it from, and taking it away again. Nothing here sends.

STAGED is on disk before the provider is asked, and the ref it returns before anything is submitted. For a STAGED send
without a ref, what a lost response may have left behind is looked for before it is staged a second time. The bytes of a
send that was stopped stay until what was staged for it is gone: they tell ours from what somebody made of it.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from postroom.model.errors import Conflict, InternalError, PostroomError
from postroom.model.outcome import Staged, SubmitRequest, WireEnvelope
from postroom.providers.protocol import Staging
from postroom.safety.staged import check_staged
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.last_look import or_stopped
from postroom.service.sending.waiting import answered
from postroom.store import Send, State
from postroom.store.sends.states import FINISHED
from postroom.store.sends.transitions import refused

log = logging.getLogger("postroom.outbox")
_TRY_AGAIN = 3600.0
_GONE = (
    "The copy prepared for sending is gone from the mailbox: somebody sent or deleted it there. Check Sent before it "
    "is sent again."
)
_LEFT_THERE = "It will not be sent, but the copy prepared at the provider (a draft) could not be removed yet. {reason}"
_CHANGED = (
    "It will not be sent, but the copy prepared at the provider (a draft) was changed there by somebody and stays."
)


async def staged(
    gateway: Gateway, account: Account, send: Send, request: SubmitRequest, *, is_first: bool
) -> SubmitRequest:
    """The request as it is submitted: with the ref of what is with the provider, compared with the frozen bytes.

    `is_first`: nobody has staged it before, so there is nothing to look for.
    """
    transport = _staging_of(account)
    if request.native is not None or transport is None:
        return request
    try:
        if not request.staged_ref:
            async with or_stopped(gateway, send):
                ref = "" if is_first else await _found(account, transport, send, request)
                ref = ref or await answered(transport.stage(request))
            request = replace(request, staged_ref=ref)
            await _keep(gateway, send, ref)
        async with or_stopped(gateway, send):
            held = await answered(transport.staged(request))
            await gateway.in_thread(_check, request, held)
    except Exception:
        await _let_go(gateway, send.send_id)
        raise
    return request


def _staging_of(account: Account) -> Staging | None:
    """None also where there is no transport at all: the submission will report why."""
    try:
        transport = account.transport
    except PostroomError:
        return None
    return transport if isinstance(transport, Staging) else None


async def _found(account: Account, transport: Staging, send: Send, request: SubmitRequest) -> str:
    """What a lost response left behind. Conflict where somebody has sent that in the meantime, unless a person knows
    of it and wants it sent all the same."""
    ref = await answered(transport.find_staged(request))
    if not ref and send.state is State.STAGED:
        evidence = await answered(account.transport.reconcile(request))
        if evidence.state == "accepted":
            raise Conflict(_GONE)
    return ref


def _check(request: SubmitRequest, held: Staged | None) -> None:
    if held is None:
        raise Conflict(_GONE)
    check_staged(request, held)


async def _let_go(gateway: Gateway, send_id: str) -> None:
    """After trouble. What waits for a person is theirs to look at and to change; what was stopped is cleared up."""
    send = await gateway.in_thread(gateway.store.outbox.get, send_id)
    if send.state is State.NEEDS_HUMAN:
        await gateway.in_thread(gateway.store.outbox.note_staged, send_id, "")
    elif send.state in FINISHED:
        await cleared(gateway, send)


async def _keep(gateway: Gateway, send: Send, ref: str) -> None:
    """On disk before anything else, even where somebody stopped the send in the meantime."""
    kept = await gateway.in_thread(gateway.store.outbox.note_staged, send.send_id, ref)
    if kept.state in FINISHED:
        raise refused(kept, send.state)


async def cleared(gateway: Gateway, send: Send) -> str:
    """Remove what was staged for a send that ended without being sent. A warning where that was not done; what could
    not be done now the worker retries later."""
    if not await gateway.in_thread(gateway.store.outbox.may_be_staged, send.send_id):
        return ""
    try:
        return await _removed(gateway, send)
    except Exception as error:  # noqa: BLE001 (whatever keeps it there, the send itself is over)
        log.warning("left_staged", extra={"error_type": type(error).__name__})
        await _look_again(gateway, send)
        return _LEFT_THERE.format(reason=error.message if isinstance(error, PostroomError) else "").strip()


async def _removed(gateway: Gateway, send: Send) -> str:
    """Where nothing is found, a response may be lost whose request is still on its way: it is looked for once more."""
    transport, warning = _staging_of(await gateway.accounts.open(send.account)), ""
    if transport is not None:
        request = await gateway.in_thread(_request_of, gateway, send)
        ref = send.staged_ref or await transport.find_staged(request)
        if not ref and not send.wake_at:
            await _look_again(gateway, send)
            return ""
        if ref:
            warning = await _discard(gateway, transport, replace(request, staged_ref=ref))
    await gateway.in_thread(gateway.store.outbox.nothing_staged, send.send_id)
    return warning


async def tidied(gateway: Gateway, account: Account, send: Send, request: SubmitRequest) -> None:
    """After it was sent. A provider takes a copy away as it sends it; where several attempts prepared one each, another
    than the last may be the one that was sent. Left in Drafts, a person could send it again."""
    transport = _staging_of(account)
    if transport is None or not request.staged_ref or send.attempt < 2:
        return
    try:
        await _discard(gateway, transport, request)
    except Exception as error:  # noqa: BLE001 (it was sent, whatever lies in Drafts)
        log.warning("left_staged", extra={"error_type": type(error).__name__})


async def _discard(gateway: Gateway, transport: Staging, request: SubmitRequest) -> str:
    """Only what is ours: not a saved draft that was staged as it was, nor what somebody sent or changed since."""
    held = await transport.staged(request) if request.staged_ref != request.draft_ref else None
    if held is None:
        return ""
    if request.raw:  # else it was staged this moment, for a send that was over already
        try:
            await gateway.in_thread(check_staged, request, held)
        except InternalError:
            return _CHANGED
    await transport.discard_staged(request.staged_ref)
    return ""


async def _look_again(gateway: Gateway, send: Send) -> None:
    until = gateway.store.clock.wall() + _TRY_AGAIN
    await gateway.in_thread(gateway.store.outbox.put_off_clearing, send.send_id, until)


def _request_of(gateway: Gateway, send: Send) -> SubmitRequest:
    """Without its bytes, where they are gone, it is enough to find it by."""
    try:
        return gateway.store.outbox.request(send.send_id)
    except Conflict:
        envelope = WireEnvelope(send.sender, send.recipients)
        return SubmitRequest(envelope, b"", send.message_id, send.send_id, draft_ref=send.draft_ref)


async def clear_left_over(gateway: Gateway) -> None:
    """What a process died over, or could not take away, after its send had ended."""
    for send in await gateway.in_thread(gateway.store.outbox.left_staged):
        await cleared(gateway, send)
