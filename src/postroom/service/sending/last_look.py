"""The final check before anything is sent: it must be what was approved, and still be allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from postroom.model.address import Address, masked
from postroom.model.errors import Conflict, InternalError, NotFound, PermissionDenied, PostroomError
from postroom.model.native import NativeAction, thaw
from postroom.model.outcome import SubmitRequest
from postroom.providers.protocol import NativeActions
from postroom.safety.frozen import check_envelope
from postroom.safety.judge import policy_denial_of
from postroom.safety.native import check_action, check_original
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.facts import policy_for
from postroom.service.sending.order import is_as_ordered
from postroom.service.sending.saved_drafts import check_draft
from postroom.service.sending.waiting import NotNow, answered, ask_a_person, was_decided, was_promised
from postroom.store import Send, State

_NOT_APPROVED = "Not sent: the message in the outbox is not what was approved. Send the message again."
_LOOKED_FOR = 3600.0  # seconds: a server that can never be searched in time must not keep it from being sent
_SENT = (
    "Not sent again: it is among the sent messages already. The state file may have been restored from a backup that "
    "was made before."
)


async def inspect(gateway: Gateway, account: Account, send: Send, frozen: SubmitRequest) -> SubmitRequest:
    """What may be submitted. Otherwise it stops here: a waiting caller gets the error, and what was promised
    earlier is referred to a person. NotNow where the provider cannot be asked."""
    own = {identity.address.key for identity in await answered(account.identities_now())}
    async with or_stopped(gateway, send):
        if not is_as_ordered(send, frozen):
            raise InternalError(_NOT_APPROVED)
        if Address(frozen.envelope.sender).key not in own:
            raise PermissionDenied(f"{masked(frozen.envelope.sender)} is no longer one of the account's identities.")
        denied = policy_denial_of(frozen.envelope.recipients, policy_for(gateway, account))
        if denied is not None:
            raise PermissionDenied(denied.reason, reason="policy_denied")
        request = as_submitted(send, frozen)
        if request.native is None:
            check_envelope(request.raw, request.envelope, send.recipients)
            await _check_unsent(gateway, account, send, request)
            request = await check_draft(gateway, account, send, request)
        else:
            check_action(request.native, request.envelope, send.recipients)
            await _look_at_original(account, request.native)
    return request


async def _check_unsent(gateway: Gateway, account: Account, send: Send, request: SubmitRequest) -> None:
    """Conflict where the provider shows that it was sent: a state file that was restored from a backup knows nothing of
    what was sent since. For what was staged before, staging looks."""
    is_staged = send.state is State.STAGED or request.staged_ref
    is_certain = gateway.store.outbox.is_own(send.send_id) or not was_promised(send)
    if is_staged or is_certain or await was_decided(gateway, send):
        return
    others = await gateway.in_thread(partial(gateway.store.outbox.sent_refs, send.account, without=send.send_id))
    try:
        evidence = await answered(account.transport.reconcile(replace(request, others_sent=others)))
    except NotNow:
        if gateway.store.clock.wall() - max(send.updated_at, send.not_before or 0.0) < _LOOKED_FOR:
            raise
        return
    except PostroomError:  # a folder that cannot be read, say: there is no evidence, as nearly always
        return
    if evidence.state == "accepted":
        raise Conflict(_SENT)


def as_submitted(send: Send, frozen: SubmitRequest) -> SubmitRequest:
    """As a transport takes it: bytes as they are, a frozen action as the action it stands for."""
    if not send.native:
        return frozen
    try:
        return replace(frozen, raw=b"", native=thaw(frozen.raw))
    except ValueError:
        raise InternalError(_NOT_APPROVED) from None


@asynccontextmanager
async def or_stopped(gateway: Gateway, send: Send) -> AsyncIterator[None]:
    """A failed check stops the send. A server that does not respond now (NotNow) proves nothing."""
    try:
        yield
    except PostroomError as error:
        if was_promised(send):
            await ask_a_person(gateway, send, error.message)
        else:
            await gateway.in_thread(gateway.store.outbox.withdraw, send.send_id)
        raise


async def _look_at_original(account: Account, action: NativeAction) -> None:
    """Asked of the provider again, as close to the submission as can be."""
    transport = account.transport_for(action)
    if not (isinstance(transport, NativeActions) and action.kind in transport.native_kinds):
        raise PermissionDenied(f"The provider no longer offers a {action.kind.replace('_', ' ')} action of its own.")
    try:
        reached = await answered(transport.recipients_of(action))
        original = await answered(account.at_server.fetch(action.original_ref)) if action.original_ref else None
    except NotFound:
        raise Conflict("Not sent: the message that it replies to or forwards is gone.", reason="email_gone") from None
    check_original(action, original, reached)
