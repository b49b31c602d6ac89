"""A saved draft that waited before it is sent, or was sent by another call meanwhile: is it still there, as it was
approved?

In another program somebody may have sent it, deleted it or written on. Sending it all the same would send it twice, or
what nobody wants sent any more, or put the approved text in the place of theirs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from postroom.mime.write.compose import compose
from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied
from postroom.model.outcome import SubmitRequest
from postroom.safety.frozen import wire_envelope
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.order import Order, digest_of
from postroom.service.sending.waiting import answered, was_decided, was_promised
from postroom.service.writing import draft as drafts
from postroom.store import Send

_CHANGED = (
    "Not sent: the saved draft is no longer what was approved. Somebody changed, sent or deleted it in another "
    "program. Check Drafts and Sent before it is sent."
)

_CHANGED_MEANWHILE = (
    "Not sent: the draft was changed, sent or deleted after it was read for this send. Call list_drafts, and repeat "
    "the call if it is to be sent as it is now."
)
_SENT = (
    "Not sent again: this draft was sent by another call, as {send_id}, and is gone. Call list_outbox with "
    "include_finished to see that send."
)


async def check_as_read(gateway: Gateway, order: Order) -> None:
    """Before anything is reserved: a person may have been asked meanwhile. The old text of a changed draft would be
    sent; where it keeps its ref, the new one would be removed with it, and where it gets another, be left to be sent,
    too."""
    try:
        version = (await order.account.drafts.find_draft(order.draft_ref)).version
    except (NotFound, PermissionDenied):
        last_of_draft = gateway.store.outbox.last_of_draft
        sent = await gateway.in_thread(last_of_draft, order.account.name, order.draft_ref)
        raise _sent_by_another_call(sent) if sent else Conflict(_CHANGED_MEANWHILE) from None
    if version != order.draft_version:
        raise Conflict(_CHANGED_MEANWHILE)


async def check_draft(gateway: Gateway, account: Account, send: Send, request: SubmitRequest) -> SubmitRequest:
    """Conflict unless it is. Where a person knows of that and wants the approved message sent, the draft stays."""
    is_staged_there = request.staged_ref == request.draft_ref  # what is staged is compared anyway
    if not request.draft_ref or is_staged_there:
        return request
    if not was_promised(send):
        await _check_not_sent(gateway, account, send, request)
        return request
    if await _is_unchanged(gateway, account, send, request):
        return request
    if not await was_decided(gateway, send):
        raise Conflict(_CHANGED)
    return replace(request, draft_ref="")


async def _check_not_sent(gateway: Gateway, account: Account, send: Send, request: SubmitRequest) -> None:
    """It was read for this very call; but two calls may have read it before one of them sent it."""
    last_of_draft = partial(gateway.store.outbox.last_of_draft, without=send.send_id)
    sent = await gateway.in_thread(last_of_draft, send.account, send.draft_ref)
    if sent is not None and not await _is_unchanged(gateway, account, send, request):
        raise _sent_by_another_call(sent)


def _sent_by_another_call(sent: Send) -> Conflict:
    return Conflict(_SENT.format(send_id=sent.send_id), reason="draft_gone", details={"send_id": sent.send_id})


async def _is_unchanged(gateway: Gateway, account: Account, send: Send, request: SubmitRequest) -> bool:
    try:
        saved = await answered(account.drafts.find_draft(request.draft_ref))
        draft = await answered(drafts.load_own_draft(account, saved))
    except (NotFound, PermissionDenied, InvalidRequest):  # gone, not a draft any more, or in another name
        return False
    circumstances = (draft.threading.thread_ref, request.draft_ref, request.save_to_sent, send.send_at)
    # With a new Date and Message-ID, which the digest leaves out.
    now = digest_of(await gateway.in_thread(compose, draft), wire_envelope(draft), send.account, *circumstances)
    return now == send.content_sha256
