"""From a reserved row of the outbox to what came of it. The one place where bytes are handed to a transport.

Every step is a state change on disk before it is an act, and the whole is shielded: a caller who hangs up does not
leave a send half done.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

import anyio

from postroom.mime.parse import parse
from postroom.model.address import Address
from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InternalError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    RateLimited,
    Unsupported,
)
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.safety.frozen import check_envelope
from postroom.safety.judge import policy_denial_of
from postroom.service.facts import policy_for
from postroom.service.house import Account, House
from postroom.service.order import Order, digest_of, likeness
from postroom.store import Reservation, Send, State
from postroom.store.vault import DONE

log = logging.getLogger("postroom.outbox")
MAX_ATTEMPTS = 5
_FIRST_RETRY, _LONGEST_RETRY = 60.0, 3600.0
_PARKED = 300.0  # how long a send that may not leave now rests before it is looked at again
# A transport that raises these never came to hand anything over.
_NOT_SENT = (AuthRequired, InvalidRequest, NotFound, PermissionDenied, Unsupported)


async def prepare(house: House, order: Order) -> Send:
    """The order's row; the one a person is being asked about is taken up again instead of made twice."""
    if order.wishes.can_elicit:
        asked = await asked_about(house, order)
        if asked is not None:
            return asked
    hold = house.settings.safety.hold_seconds
    hold_until = house.store.clock.wall() + hold if hold else None
    return await house.stored(house.store.outbox.prepare, order.as_send(hold_until))


async def asked_about(house: House, order: Order) -> Send | None:
    """The row whose question waits for its answer, or has just been answered."""
    latest = await house.stored(house.store.outbox.latest, order.account.name, order.tool, order.digest)
    return latest if latest is not None and latest.state is State.PREPARED else None


async def reserve(house: House, order: Order) -> Reservation:
    """Freeze the bytes, take key and rate token. A refusal leaves no trace behind."""
    send = await prepare(house, order)
    async with or_withdrawn(house, send):
        return await house.stored(house.store.outbox.reserve, send.send_id)


@asynccontextmanager
async def or_withdrawn(house: House, send: Send) -> AsyncIterator[None]:
    """On an error nothing was promised, so nothing stays behind. What cannot be taken back now, the worker takes."""
    try:
        yield
    except PostroomError:
        try:
            await house.stored(house.store.outbox.cancel, send.send_id)
        except Conflict:
            pass  # somebody else has taken it further in the same moment: then it is theirs
        except PostroomError:
            house.let_fall.add(send.send_id)
        raise


async def go_on(house: House, send: Send) -> Send:
    """Take a send of ours as far as it gets now: held, accepted, refused, to be tried again, or unclear.

    Where the state file fails us in the middle, the row is let fall: the worker treats it like a dead process's.
    """
    with anyio.CancelScope(shield=True):
        async with house.one_at_a_time(send.send_id):
            try:
                send = await _go_on(house, send)
            except Conflict:  # somebody else has it
                raise
            except BaseException:
                house.let_fall.add(send.send_id)
                raise
    return send


async def _go_on(house: House, send: Send) -> Send:
    if send.state is State.APPROVED:
        reserved = await _reserve_approved(house, send)
        if reserved.replayed:
            return reserved.send
        send = reserved.send
    if send.state is State.RESERVED and (send.not_before or 0) > house.store.clock.wall():
        return await house.stored(house.store.outbox.advance, send.send_id, expect=State.RESERVED, to=State.HELD)
    if send.state in (State.UNKNOWN, State.RECONCILING):
        return await _reconcile(house, send)
    if send.state is State.ACCEPTED:
        return await _finish(house, send)
    return await _deliver(house, send)


async def _reserve_approved(house: House, send: Send) -> Reservation:
    """A key that has come to stand for another mail meanwhile will stand for it for good: then this one is over."""
    try:
        return await house.stored(house.store.outbox.reserve, send.send_id)
    except Conflict as conflict:
        if conflict.retry_after is None and conflict.details.get("send_id") != send.send_id:
            await house.stored(house.store.outbox.cancel, send.send_id)
        raise


async def _deliver(house: House, send: Send) -> Send:
    account = await house.accounts.open(send.account)
    if house.settings.safety.dev_mode or house.settings.server.read_only:
        return await _park(house, send, _PARKED)
    request = await house.stored(house.store.outbox.request, send.send_id)
    await _inspect(house, account, send, request)
    try:
        if send.state in (State.RESERVED, State.HELD):
            send = await house.stored(house.store.outbox.advance, send.send_id, expect=send.state, to=State.STAGED)
        sending = await house.stored(house.store.outbox.advance, send.send_id, expect=send.state, to=State.SENDING)
    except RateLimited as limited:
        return await _park(house, send, limited.retry_after or _PARKED)
    return await _settle(house, sending, await _submit(account, request))


async def _inspect(house: House, account: Account, send: Send, request: SubmitRequest) -> None:
    """What is about to leave must be what was approved, and still be allowed. Otherwise it ends here."""
    try:
        denied = policy_denial_of(request.envelope.recipients, policy_for(house, account))
        if denied is not None:
            raise PermissionDenied(denied.reason)
        digest = digest_of(
            request.raw, request.envelope, send.account, request.thread_ref, request.draft_ref, request.save_to_sent
        )
        if digest != send.content_sha256:
            raise InternalError("Not sent: what lies in the outbox is not what was approved. Send the mail again.")
        check_envelope(request.raw, request.envelope, send.recipients)
    except PostroomError:
        await house.stored(house.store.outbox.cancel, send.send_id)
        raise


async def _submit(account: Account, request: SubmitRequest) -> SubmitOutcome:
    """Ask once. Whatever is not a plain answer counts as no answer."""
    try:
        outcome = await account.transport.submit(request)
    except _NOT_SENT as error:
        return SubmitOutcome("rejected", reason=error.message)
    except RateLimited as error:
        return SubmitOutcome("retryable", reason=error.message, retry_after=error.retry_after)
    except Exception as error:  # noqa: BLE001 (a lost answer has many faces, and none of them may look like a failure)
        log.warning("submit_unclear", extra={"error_type": type(error).__name__, "provider": account.settings.provider})
        return SubmitOutcome("unknown", reason=error.message if isinstance(error, PostroomError) else "no answer")
    strangers = _keys(outcome.accepted) - _keys(request.envelope.recipients)
    if strangers:
        warning = "The provider reports a recipient who was not approved. Tell the operator at once."
        return SubmitOutcome("accepted", outcome.accepted, outcome.refused, outcome.message_ref, outcome.thread_ref,
                             outcome.reason, warnings=(*outcome.warnings, warning))  # fmt: skip
    return outcome


async def _settle(house: House, send: Send, outcome: SubmitOutcome) -> Send:
    advance, told = house.store.outbox.advance, _told(outcome)
    if outcome.state == "accepted":
        accepted = await house.stored(advance, send.send_id, expect=send.state, to=State.ACCEPTED, outcome=told)
        return await _finish(house, accepted)
    if outcome.state == "rejected":
        return await house.stored(advance, send.send_id, expect=State.SENDING, to=State.REJECTED, outcome=told)
    if outcome.state == "retryable":
        return await _try_later(house, send, outcome)
    unknown = await house.stored(advance, send.send_id, expect=State.SENDING, to=State.UNKNOWN, outcome=told)
    return await _reconcile(house, unknown)


async def _try_later(house: House, send: Send, outcome: SubmitOutcome) -> Send:
    """Provably not accepted: again after a pause, a few times, then never."""
    pause = max(outcome.retry_after or 0, min(_FIRST_RETRY * 2 ** max(send.attempt - 1, 0), _LONGEST_RETRY))
    waiting = await house.stored(
        house.store.outbox.advance,
        send.send_id,
        expect=send.state,
        to=State.RETRYABLE,
        outcome=_told(outcome),
        wake_at=house.store.clock.wall() + pause,
    )
    if waiting.attempt >= MAX_ATTEMPTS and not outcome.accepted:  # what some have got already must be completed
        return await house.stored(house.store.outbox.cancel, send.send_id)
    return waiting


async def _reconcile(house: House, send: Send) -> Send:
    """Look for evidence of what became of it. Without any, a person decides."""
    if send.state is State.UNKNOWN:
        send = await house.stored(house.store.outbox.advance, send.send_id, expect=State.UNKNOWN, to=State.RECONCILING)
    try:
        account = await house.accounts.open(send.account)
        request = await house.stored(house.store.outbox.request, send.send_id)
        outcome = await account.transport.reconcile(request)
    except PostroomError:
        return await _park(house, send, _FIRST_RETRY)
    if outcome.state in ("accepted", "retryable"):
        return await _settle(house, send, outcome)
    return await house.stored(
        house.store.outbox.advance, send.send_id, expect=State.RECONCILING, to=State.NEEDS_HUMAN, outcome=_told(outcome)
    )


async def _finish(house: House, send: Send) -> Send:
    """Accepted: remember whom and what was written, clear the vault, close the row."""
    request = await house.stored(house.store.outbox.request, send.send_id)
    parsed = await house.stored(parse, request.raw)

    def remember() -> None:
        body = parsed.body.text or parsed.body.html
        house.store.duplicates.remember(send.account, likeness(parsed.to, parsed.subject, body))
        house.store.recipients.remember(send.account, send.recipients)
        path = house.vault.find(f"{send.kind}_{send.approval_id}.md") if send.approval_id else None
        if path is not None:
            with suppress(InternalError):  # a vault that takes no files must not keep a sent mail from being done
                house.vault.claim(path, DONE)

    await house.stored(remember)
    return await house.stored(house.store.outbox.advance, send.send_id, expect=State.ACCEPTED, to=State.DONE)


async def _park(house: House, send: Send, seconds: float) -> Send:
    wake_at = house.store.clock.wall() + seconds
    await house.stored(house.store.worklist.release, send.send_id, wake_at=wake_at)
    return await house.stored(house.store.outbox.get, send.send_id)


def _keys(emails: Iterable[str]) -> set[str]:
    return {Address(email).key for email in emails}


def _told(outcome: SubmitOutcome) -> dict[str, object]:
    return {
        "state": outcome.state,
        "accepted": list(outcome.accepted),
        "refused": dict(outcome.refused),
        "message_ref": outcome.message_ref,
        "thread_ref": outcome.thread_ref,
        "reason": outcome.reason,
        "warnings": list(outcome.warnings),
    }
