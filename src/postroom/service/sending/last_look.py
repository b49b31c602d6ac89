"""The last look before anything leaves: it must be what was approved, and still be allowed."""

from __future__ import annotations

from postroom.model.address import Address, masked
from postroom.model.errors import InternalError, PermissionDenied, PostroomError
from postroom.model.outcome import SubmitRequest
from postroom.safety.frozen import check_envelope
from postroom.safety.judge import policy_denial_of
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.facts import policy_for
from postroom.service.sending.order import stored_digest
from postroom.service.sending.waiting import ask_a_person, was_promised
from postroom.store import Send


async def inspect(gateway: Gateway, account: Account, send: Send, request: SubmitRequest) -> None:
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
            raise PermissionDenied(denied.reason)
        check_envelope(request.raw, request.envelope, send.recipients)
    except PostroomError as error:
        if was_promised(send):
            await ask_a_person(gateway, send, error.message)
        else:
            await gateway.in_thread(gateway.store.outbox.withdraw, send.send_id)
        raise
