"""Putting a message where its provider submits it from, and taking it away again. Nothing here sends.

STAGED is on disk before the provider is asked, and the ref it returns before anything is submitted. For a STAGED send
without a ref, what a lost response may have left behind is looked for before it is staged a second time.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from postroom.model.errors import AuthRequired, Conflict, InternalError, PostroomError, ProviderUnavailable
from postroom.model.outcome import Staged, SubmitRequest, WireEnvelope
from postroom.providers.protocol import Staging
from postroom.safety.staged import check_staged
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.last_look import or_stopped
from postroom.store import Send, State
from postroom.store.sends.states import FINISHED
from postroom.store.sends.transitions import refused

R = TypeVar("R")
log = logging.getLogger("postroom.outbox")
_TRY_AGAIN = 3600.0
_GONE = (
    "The copy prepared for sending is gone from the mailbox: somebody sent or deleted it there. Check Sent before it "
    "is sent again."
)
_NO_ANSWER = "The provider did not respond while the message was being prepared there."
_LEFT_THERE = "It will not be sent, but the copy prepared at the provider (a draft) could not be removed yet. {reason}"


class NotNow(Exception):
    """The provider cannot stage it for the time being. Apart from failures of our own state file, which mean more."""

    def __init__(self, reason: PostroomError) -> None:
        super().__init__(reason.message)
        self.reason = reason


async def staged(
    gateway: Gateway, account: Account, send: Send, request: SubmitRequest, *, is_first: bool
) -> SubmitRequest:
    """The request as it is submitted: with the ref of what is with the provider, compared with the frozen bytes.

    `is_first`: nobody has staged it before, so there is nothing to look for.
    """
    transport = _staging_of(account)
    if request.native is not None or transport is None:
        return request
    if not request.staged_ref:
        async with or_stopped(gateway, send):
            ref = "" if is_first else await _answered(transport.find_staged(request))
            ref = ref or await _answered(transport.stage(request))
        request = replace(request, staged_ref=ref)
        await _keep(gateway, send, ref)
    async with or_stopped(gateway, send):
        await _compare(gateway, request, await _answered(transport.staged(request)))
    return request


def _staging_of(account: Account) -> Staging | None:
    """None also where there is no transport at all: the submission will report why."""
    try:
        transport = account.transport
    except PostroomError:
        return None
    return transport if isinstance(transport, Staging) else None


async def _compare(gateway: Gateway, request: SubmitRequest, held: Staged | None) -> None:
    """What is gone, or was changed by somebody, is no longer ours: it is neither sent nor removed."""
    try:
        await gateway.in_thread(_check, request, held)
    except (Conflict, InternalError):
        await gateway.in_thread(gateway.store.outbox.note_staged, request.attempt_id, "")
        raise


def _check(request: SubmitRequest, held: Staged | None) -> None:
    if held is None:
        raise Conflict(_GONE)
    check_staged(request, held)


async def _answered(call: Awaitable[R]) -> R:
    """A lost response counts as none: nothing was sent, so it is tried again later."""
    try:
        return await call
    except PostroomError as error:
        if error.retryable or isinstance(error, AuthRequired):
            raise NotNow(error) from error
        raise
    except Exception as error:
        log.warning("staging_unclear", extra={"error_type": type(error).__name__})
        raise NotNow(ProviderUnavailable(_NO_ANSWER)) from error


async def _keep(gateway: Gateway, send: Send, ref: str) -> None:
    """On disk before anything else. A send that somebody stopped in the meantime is cleared up after at once."""
    kept = await gateway.in_thread(gateway.store.outbox.note_staged, send.send_id, ref)
    if kept.state in FINISHED:
        await cleared(gateway, kept)
        raise refused(kept, send.state)


async def cleared(gateway: Gateway, send: Send) -> str:
    """Remove what was staged for a send that ended without being sent. A warning where it could not be done now;
    the worker retries later. A saved draft that was staged as it was is the person's own and stays."""
    if send.staged_ref and send.staged_ref == send.draft_ref:
        return ""
    if not (send.staged_ref or await _answer_was_lost(gateway, send)):
        return ""
    try:
        await _discard(gateway, send)
    except Exception as error:  # noqa: BLE001 (whatever keeps it there, the send itself is over)
        log.warning("left_staged", extra={"error_type": type(error).__name__})
        until = gateway.store.clock.wall() + _TRY_AGAIN
        await gateway.in_thread(gateway.store.outbox.put_off_clearing, send.send_id, until)
        return _LEFT_THERE.format(reason=error.message if isinstance(error, PostroomError) else "").strip()
    return ""


async def _discard(gateway: Gateway, send: Send) -> None:
    transport = _staging_of(await gateway.accounts.open(send.account))
    if transport is not None:
        ref = send.staged_ref or await transport.find_staged(_name_of(send))
        if ref:
            await transport.discard_staged(ref)
    await gateway.in_thread(gateway.store.outbox.note_staged, send.send_id, "")


async def _answer_was_lost(gateway: Gateway, send: Send) -> bool:
    """Whether it was stopped while it was being staged and nobody had heard of a ref."""
    events = await gateway.in_thread(gateway.store.outbox.events, send.send_id)
    return not send.native and [event.state for event in events[-2:-1]] == [State.STAGED]


def _name_of(send: Send) -> SubmitRequest:
    """Enough to find it by: the bytes of a finished send are gone."""
    return SubmitRequest(WireEnvelope(send.sender, send.recipients), b"", send.message_id, send.send_id)


async def clear_left_over(gateway: Gateway) -> None:
    """What a process died over, or could not take away, after its send had ended."""
    for send in await gateway.in_thread(gateway.store.outbox.left_staged):
        await cleared(gateway, send)
