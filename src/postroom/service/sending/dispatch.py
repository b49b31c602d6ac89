"""From a reserved row of the outbox to its outcome. The only place where bytes are handed to a transport.

Every step is a state change on disk before it is an act, and the whole is shielded: a caller who hangs up does not
leave a send half done. What was promised (held, scheduled, approved, to be retried) ends only by being sent, by a
person's decision, or by being referred to a person with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from postroom.model import unsubscribing
from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderUnavailable,
    RateLimited,
    Unsupported,
)
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.service.gateway import Account, Gateway
from postroom.service.sending import staging
from postroom.service.sending.last_look import inspect
from postroom.service.sending.order import Order
from postroom.service.sending.settling import finish, keys_of, reconcile, settle
from postroom.service.sending.waiting import NotNow, account_of, ask_a_person, has_waited_long, park, rest
from postroom.store import Reservation, Send, State
from postroom.store.sends.pauses import Pause
from postroom.tracing import span

log = logging.getLogger("postroom.outbox")
_PARKED = 300.0  # how long a send that may not go out now waits before it is checked again
_NOT_HERE = "This server does not send (dev mode or read-only); the message waits for one that does."
_SUBMITTED = (
    "Not sent again: it was submitted before, and the state file does not say how that ended; it may have been "
    "restored from a backup. Look whether the message is in Sent."
)
# A transport that raises these never came to hand anything over.
_NOT_SENT = (InvalidRequest, NotFound, PermissionDenied, Unsupported)


async def prepare(gateway: Gateway, order: Order) -> Send:
    """The order's row, with its bytes."""
    return await gateway.in_thread(gateway.store.outbox.prepare, order.as_send())


async def asked_about(gateway: Gateway, order: Order) -> Send | None:
    """The row of exactly this order whose question waits for its answer."""
    key = order.wishes.idempotency_key
    return await gateway.in_thread(gateway.store.outbox.asked_about, order.account.name, order.tool, order.digest, key)


async def has_left(gateway: Gateway, order: Order) -> bool:
    """Whether a message of exactly this content was sent, or may have been."""
    return (
        await gateway.in_thread(gateway.store.outbox.latest, order.account.name, order.tool, order.digest) is not None
    )


async def reserve(
    gateway: Gateway, order: Order, asked: Send | None = None, takes_preview: bool = False
) -> Reservation:
    """Freeze the bytes, take preview, key and rate token. A refusal leaves no trace behind.

    Where a person was asked, it is the very row that the question named that goes on.
    """
    send = asked or await prepare(gateway, order)
    hold = gateway.settings.safety.hold_seconds
    hold_until = gateway.store.clock.wall() + hold if hold else None
    async with or_withdrawn(gateway, send):
        return await gateway.in_thread(
            gateway.store.outbox.reserve, send.send_id, hold_until=hold_until, takes_preview=takes_preview
        )


@asynccontextmanager
async def or_withdrawn(gateway: Gateway, send: Send) -> AsyncIterator[None]:
    """On an error nothing was promised, so nothing stays behind. What cannot be withdrawn now, the worker withdraws."""
    try:
        yield
    except PostroomError:
        try:
            await gateway.in_thread(gateway.store.outbox.withdraw, send.send_id)
        except Conflict:
            pass  # somebody else has taken it further in the same moment: then it is theirs
        except PostroomError:
            gateway.abandoned.add(send.send_id)
        raise


async def go_on(gateway: Gateway, send: Send) -> Send:
    """Take a send of ours as far as it gets now: held, accepted, refused, to be tried again, or unclear.

    If the state file fails in between, the row is abandoned: the worker treats it like that of a dead process.
    """
    with anyio.CancelScope(shield=True):
        async with gateway.one_at_a_time(send.send_id):
            try:
                send = await _go_on(gateway, send)
            except Conflict:  # somebody else has it
                raise
            except BaseException:
                gateway.abandoned.add(send.send_id)
                raise
    return send


async def _go_on(gateway: Gateway, send: Send) -> Send:
    if send.state is State.APPROVED:
        reserved = await _reserve_approved(gateway, send)
        if reserved.replayed:
            return reserved.send
        send = reserved.send
    if send.state is State.RESERVED and (send.not_before or 0) > gateway.store.clock.wall():
        return await gateway.in_thread(gateway.store.outbox.advance, send.send_id, expect=State.RESERVED, to=State.HELD)
    if send.state in (State.UNKNOWN, State.RECONCILING):
        return await reconcile(gateway, send)
    if send.state is State.ACCEPTED:
        return await finish(gateway, send)
    return await _deliver(gateway, send)


async def _reserve_approved(gateway: Gateway, send: Send) -> Reservation:
    """What a person approved does not vanish: a key that stands for another message, or an approval that does not fit,
    is put before a person."""
    try:
        return await gateway.in_thread(gateway.store.outbox.reserve, send.send_id)
    except (Conflict, PermissionDenied) as error:
        is_ours = error.details.get("send_id") == send.send_id
        if not (is_ours or error.retry_after):
            await ask_a_person(gateway, send, error.message)
        raise


async def _deliver(gateway: Gateway, send: Send) -> Send:
    if gateway.settings.safety.dev_mode or gateway.settings.server.read_only:
        return await park(gateway, send, _PARKED, _NOT_HERE)
    account = await account_of(gateway, send)
    if isinstance(account, Pause):
        return await _wait_for_login(gateway, send, account)
    try:
        if (ended := await _ended_before(gateway, send)) is not None:
            return ended
    except ProviderUnavailable as error:  # of the file beside the state file
        return await rest(gateway, send.send_id, error)
    frozen = await gateway.in_thread(gateway.store.outbox.request, send.send_id)
    is_first = send.state in (State.RESERVED, State.HELD)
    try:
        request = await inspect(gateway, account, send, frozen)
        if send.tool == unsubscribing.TOOL:  # before a copy of it can be in Sent
            await gateway.in_thread(gateway.store.recipients.note_lists, send.account, send.recipients)
        if is_first:
            send = await gateway.in_thread(
                gateway.store.outbox.advance, send.send_id, expect=send.state, to=State.STAGED
            )
        request = await staging.staged(gateway, account, send, request, is_first=is_first)
        sending = await gateway.in_thread(
            gateway.store.outbox.advance, send.send_id, expect=send.state, to=State.SENDING
        )
    except RateLimited as limited:
        return await park(gateway, send, limited.retry_after or _PARKED, limited.message)
    except NotNow as later:
        return await _put_off(gateway, send, later.reason)
    return await settle(gateway, sending, await _noted_and_submitted(gateway, account, sending, request))


async def _ended_before(gateway: Gateway, send: Send) -> Send | None:
    """Where the state file was put back from a backup: what it does not know, and the file beside it does."""
    outbox = gateway.store.outbox
    if (submitted := await gateway.in_thread(outbox.catch_up, send, _SUBMITTED)) is not None:
        return submitted
    if await gateway.in_thread(outbox.was_stopped, send.send_id):
        return await gateway.in_thread(outbox.cancel, send.send_id)
    return None


async def _put_off(gateway: Gateway, send: Send, reason: PostroomError) -> Send:
    """Nothing was sent: it is retried later. A refused login pauses the whole account."""
    if not isinstance(reason, AuthRequired):
        return await rest(gateway, send.send_id, reason)
    pause = await gateway.in_thread(gateway.store.pauses.login_refused, send.account, reason.message)
    return await _wait_for_login(gateway, await gateway.in_thread(gateway.store.outbox.get, send.send_id), pause)


async def _wait_for_login(gateway: Gateway, send: Send, pause: Pause) -> Send:
    if await has_waited_long(gateway, send):
        return await ask_a_person(gateway, send, pause.reason)
    return await park(gateway, send, pause.probe_at - gateway.store.clock.wall(), pause.reason)


async def _noted_and_submitted(
    gateway: Gateway, account: Account, sending: Send, request: SubmitRequest
) -> SubmitOutcome:
    try:
        await gateway.in_thread(gateway.store.outbox.note_submission, sending)
    except ProviderUnavailable as error:  # nothing was sent
        return SubmitOutcome("retryable", reason=error.message, error=error)
    with span("submit", provider=account.settings.provider) as traced:
        outcome = await _submit(account, request)
        traced.mark(outcome=outcome.state)
    return outcome


async def _submit(account: Account, request: SubmitRequest) -> SubmitOutcome:
    """Submit once. Anything but a clear response counts as no response."""
    try:
        outcome = await account.transport_for(request.native).submit(request)
    except AuthRequired as error:
        return SubmitOutcome("retryable", reason=error.message, login_refused=True, error=error)
    except _NOT_SENT as error:
        return SubmitOutcome("rejected", reason=error.message, error=error)
    except RateLimited as error:
        return SubmitOutcome("retryable", reason=error.message, retry_after=error.retry_after, error=error)
    except Exception as error:  # noqa: BLE001 (a lost answer has many faces, and none of them may look like a failure)
        log.warning("submit_unclear", extra={"error_type": type(error).__name__, "provider": account.settings.provider})
        return SubmitOutcome("unknown", reason=error.message if isinstance(error, PostroomError) else "no response")
    strangers = keys_of(outcome.accepted) - keys_of(request.envelope.recipients)
    if strangers:
        warning = "The provider reports a recipient who was not approved. Tell the operator at once."
        return SubmitOutcome("accepted", outcome.accepted, outcome.refused, outcome.message_ref, outcome.thread_ref,
                             outcome.reason, warnings=(*outcome.warnings, warning))  # fmt: skip
    return outcome
