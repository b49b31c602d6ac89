"""Approvals a person wrote by hand, before anything was asked: "mail to bob: approved".

They match on kind, status and recipient (or thread), cover no particular content, and are therefore accepted only where
the operator allows them. Each releases one send: moving the file to Done claims it.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from postroom.model.errors import PostroomError, RateLimited
from postroom.service.gateway import Gateway
from postroom.service.sending import dispatch
from postroom.service.sending.order import Order
from postroom.service.sending.receipts import receipt
from postroom.service.views import SendView
from postroom.store.vault.approval_file import ApprovalFile
from postroom.store.vault.folder import APPROVED, DONE, Found


def are_allowed(gateway: Gateway) -> bool:
    return gateway.settings.traits.heeds_handwritten


async def release(gateway: Gateway, order: Order, send_id: str, approval_id: str) -> SendView | None:
    """Send on the strength of a hand-written approval; None when there is none that matches."""
    waiting = gateway.store.rate.status(order.account.name).retry_after
    path = await gateway.in_thread(_matching, gateway, order)
    if path is None or waiting:
        return None
    taken = await gateway.in_thread(gateway.vault.claim, path, DONE)
    if taken is None:
        return None
    try:
        await gateway.in_thread(gateway.store.approvals.approve, approval_id, who="vault", how="handwritten")
    except PostroomError:  # it released nothing, so it goes back
        with suppress(PostroomError):
            await gateway.in_thread(gateway.vault.claim, taken, APPROVED)
        raise
    send = await gateway.in_thread(gateway.store.outbox.get, send_id)
    with suppress(RateLimited):  # it stays approved and is sent when the limit allows
        send = await dispatch.go_on(gateway, send)
    return await receipt(gateway, send)


def _matching(gateway: Gateway, order: Order) -> Path | None:
    """From memory first, then by a look at every file: among ten thousand the first finds most of them at once."""
    now, wanted = gateway.now(), {address.key for address in order.draft.recipients}

    def fits(found: Found) -> bool:
        return found.file is not None and _covers(found, order, wanted) and _is_good(found.file, order.kind, now)

    known = gateway.vault.remembered(APPROVED)
    for found in known:
        if fits(found) and fits(gateway.vault.look_again(found)):
            return found.path
    judged = set(map(id, known))  # a scan gives an unchanged file as the very same object
    return next((found.path for found in gateway.vault.scan(APPROVED) if id(found) not in judged and fits(found)), None)


def _is_good(file: ApprovalFile, kind: str, now: datetime) -> bool:
    is_approval = file.type == kind and file.status == "approved" and not file.content_sha256
    return is_approval and (not file.expires or _is_ahead(file.expires, now))


def _covers(found: Found, order: Order, wanted: set[str]) -> bool:
    assert found.file is not None
    if order.kind == "email_reply":
        is_thread = bool(found.file.thread_id) and found.file.thread_id == order.draft.threading.thread_ref
        return is_thread and (wanted <= found.recipients if found.file.to else True)  # anybody can join a thread
    return wanted <= found.recipients


def _is_ahead(expires: str, now: datetime) -> bool:
    """A date that cannot be read is one that has passed."""
    try:
        moment = datetime.fromisoformat(expires)
    except ValueError:
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) > now
