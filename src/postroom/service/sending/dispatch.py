"""From a reserved row of the outbox to what came of it. The one place where bytes are handed to a transport.

Every step is a state change on disk before it is an act, and the whole is shielded: a caller who hangs up does not
leave a send half done. What was promised (held, scheduled, approved, to be tried again) ends only by being sent, by a
person's word, or before a person with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

import anyio

from postroom.mime.read.parse import parse
from postroom.model.address import Address, masked
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
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.facts import policy_for
from postroom.service.sending.order import Order, likeness, stored_digest
from postroom.service.sending.originals import mark_original
from postroom.store import Reservation, Send, State
from postroom.store.sends.pauses import Pause
from postroom.store.sends.states import ALLOWED
from postroom.store.vault.folder import DONE

log = logging.getLogger("postroom.outbox")
# As a mail server does: growing pauses, for days. Then a person is asked.
_FIRST_RETRY, _LONGEST_RETRY = 60.0, 4 * 3600.0
GIVE_UP_SECONDS = 5 * 86_400.0
_PARKED = 300.0  # how long a send that may not leave now rests before it is looked at again
_NOT_HERE = "This server does not send (dev mode or read-only); it waits for one that does."
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
    """Whether a mail of exactly this content has gone out, or may have."""
    return (
        await gateway.in_thread(gateway.store.outbox.latest, order.account.name, order.tool, order.digest) is not None
    )


async def reserve(gateway: Gateway, order: Order, asked: Send | None = None) -> Reservation:
    """Freeze the bytes, take key and rate token. A refusal leaves no trace behind.

    Where a person was asked, it is the very row that the question named that goes on.
    """
    send = asked or await prepare(gateway, order)
    hold = gateway.settings.safety.hold_seconds
    hold_until = gateway.store.clock.wall() + hold if hold else None
    async with or_withdrawn(gateway, send):
        return await gateway.in_thread(gateway.store.outbox.reserve, send.send_id, hold_until=hold_until)


@asynccontextmanager
async def or_withdrawn(gateway: Gateway, send: Send) -> AsyncIterator[None]:
    """On an error nothing was promised, so nothing stays behind. What cannot be taken back now, the worker takes."""
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

    Where the state file fails us in the middle, the row is let fall: the worker treats it like a dead process's.
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
        return await _reconcile(gateway, send)
    if send.state is State.ACCEPTED:
        return await _finish(gateway, send)
    return await _deliver(gateway, send)


async def _reserve_approved(gateway: Gateway, send: Send) -> Reservation:
    """What a person approved does not vanish: a key that stands for another mail, or an approval that does not fit, is
    put before a person."""
    try:
        return await gateway.in_thread(gateway.store.outbox.reserve, send.send_id)
    except (Conflict, PermissionDenied) as error:
        is_ours = isinstance(error, Conflict) and (error.retry_after or error.details.get("send_id") == send.send_id)
        if not is_ours:
            await _ask_a_person(gateway, send, error.message)
        raise


async def _deliver(gateway: Gateway, send: Send) -> Send:
    if gateway.settings.safety.dev_mode or gateway.settings.server.read_only:
        return await _park(gateway, send, _PARKED, _NOT_HERE)
    account = await _account(gateway, send)
    if isinstance(account, Pause):
        return await _park(gateway, send, account.probe_at - gateway.store.clock.wall(), account.reason)
    request = await gateway.in_thread(gateway.store.outbox.request, send.send_id)
    await _inspect(gateway, account, send, request)
    try:
        if send.state in (State.RESERVED, State.HELD):
            send = await gateway.in_thread(
                gateway.store.outbox.advance, send.send_id, expect=send.state, to=State.STAGED
            )
        sending = await gateway.in_thread(
            gateway.store.outbox.advance, send.send_id, expect=send.state, to=State.SENDING
        )
    except RateLimited as limited:
        return await _park(gateway, send, limited.retry_after or _PARKED, limited.message)
    return await _settle(gateway, sending, await _submit(account, request))


async def _account(gateway: Gateway, send: Send) -> Account | Pause:
    """The send's account, open; or the pause it is in because its login was refused."""
    pause = await gateway.in_thread(gateway.store.pauses.of, send.account)
    if pause is not None and pause.lasts(gateway.store.clock.wall()):
        return pause
    try:
        return await gateway.accounts.open(send.account)
    except AuthRequired as error:
        return await gateway.in_thread(gateway.store.pauses.login_refused, send.account, error.message)


async def _inspect(gateway: Gateway, account: Account, send: Send, request: SubmitRequest) -> None:
    """What is about to leave must be what was approved, and still be allowed. Otherwise it stops here: the caller who
    waits for it is told, and what was promised earlier is put before a person."""
    own = {identity.address.key for identity in await account.mailbox.identities()}
    try:
        if stored_digest(send, request) != send.content_sha256:
            raise InternalError("Not sent: what lies in the outbox is not what was approved. Send the mail again.")
        if Address(request.envelope.sender).key not in own:
            raise PermissionDenied(f"{masked(request.envelope.sender)} is none of the account's identities any more.")
        denied = policy_denial_of(request.envelope.recipients, policy_for(gateway, account))
        if denied is not None:
            raise PermissionDenied(denied.reason, reason="policy_denied")
        check_envelope(request.raw, request.envelope, send.recipients)
    except PostroomError as error:
        if _was_promised(send):
            await _ask_a_person(gateway, send, error.message)
        else:
            await gateway.in_thread(gateway.store.outbox.withdraw, send.send_id)
        raise


async def rest(gateway: Gateway, send_id: str, error: PostroomError) -> Send:
    """It ran into trouble before it could be tried, such as an account that cannot be opened: it is looked at again
    later, and put before a person when that goes on for days."""
    send = await gateway.in_thread(gateway.store.outbox.get, send_id)
    waits_since = max(send.created_at, send.not_before or 0.0)
    is_ours = not isinstance(error, (Conflict, RateLimited)) and State.NEEDS_HUMAN in ALLOWED[send.state]
    if is_ours and send.attempt == 0 and gateway.store.clock.wall() - waits_since > GIVE_UP_SECONDS:
        return await _ask_a_person(gateway, send, error.message)
    return await _park(gateway, send, error.retry_after or _FIRST_RETRY, error.message)


def _was_promised(send: Send) -> bool:
    """Whether somebody was told that it will leave, and is not waiting for this attempt's answer.

    Before a first attempt an outcome holds the reason why the send was put aside.
    """
    waited = send.approval_id or send.not_before or send.attempt > 1 or send.doubtful
    return bool(waited) or send.outcome is not None or send.state in (State.HELD, State.RETRYABLE)


async def _ask_a_person(gateway: Gateway, send: Send, reason: str) -> Send:
    """It cannot go on by itself. Its bytes stay until a person has decided."""
    told = {**(send.outcome or {}), "reason": reason}
    return await gateway.in_thread(
        gateway.store.outbox.advance, send.send_id, expect=send.state, to=State.NEEDS_HUMAN, outcome=told
    )


async def _submit(account: Account, request: SubmitRequest) -> SubmitOutcome:
    """Ask once. Whatever is not a plain answer counts as no answer."""
    try:
        outcome = await account.transport.submit(request)
    except AuthRequired as error:
        return SubmitOutcome("retryable", reason=error.message, login_refused=True)
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


async def _settle(gateway: Gateway, send: Send, outcome: SubmitOutcome) -> Send:
    advance, told = gateway.store.outbox.advance, _told(send, outcome)
    if outcome.state == "accepted":
        accepted = await gateway.in_thread(advance, send.send_id, expect=send.state, to=State.ACCEPTED, outcome=told)
        await gateway.in_thread(gateway.store.pauses.login_worked, send.account)
        return await _finish(gateway, accepted)
    if outcome.state == "rejected":
        end = State.NEEDS_HUMAN if _was_promised(send) or send.may_have_left else State.REJECTED
        return await gateway.in_thread(advance, send.send_id, expect=State.SENDING, to=end, outcome=told)
    if outcome.state == "retryable":
        return await _try_later(gateway, send, outcome)
    unknown = await gateway.in_thread(advance, send.send_id, expect=State.SENDING, to=State.UNKNOWN, outcome=told)
    return await _reconcile(gateway, unknown)


async def _try_later(gateway: Gateway, send: Send, outcome: SubmitOutcome) -> Send:
    """Provably not accepted: again after a pause. A refused login pauses the whole account."""
    now = gateway.store.clock.wall()
    pause = min(max(outcome.retry_after or 0, _FIRST_RETRY * 2 ** min(max(send.attempt - 1, 0), 16)), _LONGEST_RETRY)
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
    if now - await _trying_since(gateway, send) < GIVE_UP_SECONDS:
        return waiting
    days = round(GIVE_UP_SECONDS / 86_400)
    return await _ask_a_person(
        gateway, waiting, f"It could not be handed over for {days} days. {outcome.reason}".strip()
    )


async def _trying_since(gateway: Gateway, send: Send) -> float:
    """When the first attempt began; the first one since a person last had it sent again."""
    since = gateway.store.clock.wall()
    for event in reversed(await gateway.in_thread(gateway.store.outbox.events, send.send_id)):
        if event.state is State.NEEDS_HUMAN:
            break
        since = event.at if event.state is State.SENDING else since
    return since


async def _reconcile(gateway: Gateway, send: Send) -> Send:
    """Look for evidence of what became of it. Without any, a person decides."""
    if send.state is State.UNKNOWN:
        send = await gateway.in_thread(
            gateway.store.outbox.advance, send.send_id, expect=State.UNKNOWN, to=State.RECONCILING
        )
    try:
        account = await _account(gateway, send)
        if isinstance(account, Pause):
            return await _park(gateway, send, account.probe_at - gateway.store.clock.wall(), account.reason)
        request = await gateway.in_thread(gateway.store.outbox.request, send.send_id)
        outcome = await account.transport.reconcile(request)
    except PostroomError as error:
        return await _park(gateway, send, _FIRST_RETRY, error.message)
    if outcome.state in ("accepted", "retryable"):
        return await _settle(gateway, send, outcome)
    return await gateway.in_thread(
        gateway.store.outbox.advance,
        send.send_id,
        expect=State.RECONCILING,
        to=State.NEEDS_HUMAN,
        outcome=_told(send, outcome),
    )


async def _finish(gateway: Gateway, send: Send) -> Send:
    """Accepted: remember whom and what was written, clear the vault, mark the mail it answers, close the row."""
    request = await gateway.in_thread(gateway.store.outbox.request, send.send_id)
    parsed = await gateway.in_thread(parse, request.raw)

    def remember() -> None:
        body = parsed.body.html or parsed.body.text
        gateway.store.duplicates.remember(send.account, likeness(parsed.to, parsed.subject, body))
        gateway.store.recipients.remember(send.account, _accepted(send))
        path = gateway.vault.find(f"{send.kind}_{send.approval_id}.md") if send.approval_id else None
        if path is not None:
            with suppress(InternalError):  # a vault that takes no files must not keep a sent mail from being done
                gateway.vault.claim(path, DONE)

    await gateway.in_thread(remember)
    told = _with_warning(send, await mark_original(gateway, send))
    return await gateway.in_thread(
        gateway.store.outbox.advance, send.send_id, expect=State.ACCEPTED, to=State.DONE, outcome=told
    )


def _with_warning(send: Send, warning: str) -> dict[str, object]:
    told = send.outcome or {}
    return {**told, "warnings": [*told.get("warnings", ()), warning]} if warning else told


def _accepted(send: Send) -> list[str]:
    """Those of its recipients whom the provider took the mail for; a person's word that it was sent names nobody."""
    taken = _keys((send.outcome or {}).get("accepted", ()))
    return [recipient for recipient in send.recipients if Address(recipient).key in taken]


async def _park(gateway: Gateway, send: Send, seconds: float, reason: str) -> Send:
    wake_at = gateway.store.clock.wall() + seconds
    await gateway.in_thread(gateway.store.worklist.release, send.send_id, wake_at=wake_at, reason=reason)
    return await gateway.in_thread(gateway.store.outbox.get, send.send_id)


def _keys(emails: Iterable[str]) -> set[str]:
    return {Address(email).key for email in emails}


def _told(send: Send, outcome: SubmitOutcome) -> dict[str, object]:
    """Who has got it in an earlier attempt has got it, whatever the last one came to."""
    earlier = (send.outcome or {}).get("accepted", ())
    return {
        "state": outcome.state,
        "accepted": list(dict.fromkeys([*earlier, *outcome.accepted])),
        "refused": dict(outcome.refused),
        "message_ref": outcome.message_ref,
        "thread_ref": outcome.thread_ref,
        "reason": outcome.reason,
        "warnings": list(outcome.warnings),
    }
