"""Asking for approval: the pending file in the vault, with the whole message in it, for a person to read and move.

Only asking lives here. Granting lives in `approvals`, which an agent's door cannot import.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from postroom.safety.judge import Finding
from postroom.service import dispatch, handwritten
from postroom.service.approval_letter import pending_file
from postroom.service.house import House
from postroom.service.letter import preview_of
from postroom.service.order import Order
from postroom.service.receipts import already
from postroom.service.views import ApprovalView, SendView
from postroom.store import Send, State
from postroom.store.approval_file import render
from postroom.store.send_states import FINISHED

LIFETIME = timedelta(hours=24)
_WRITING_SECONDS = 60.0
_FILE_NAME = re.compile(r"email_(?:send|reply|forward)_(\w+)\.md")
# For the model, so without a command that it could run: approving is a person's act.
_HOW = (
    "A person must approve it outside of this conversation, in the vault folder or at the command line; the "
    "documentation on safety says how. Postroom then sends it by itself; repeat the call to see the result."
)
_AT_WORK = frozenset(State) - FINISHED - {State.PREPARED}


async def ask(house: House, order: Order, findings: Sequence[Finding]) -> SendView:
    """Freeze the order, put it before a person, and stop."""
    created = house.now().astimezone(house.settings.server.zone)
    expires = created + LIFETIME
    file = await house.stored(pending_file, order, created, expires)  # what nobody could approve is refused here
    prepared = await dispatch.prepare(house, order)

    def letter(approval_id: str) -> tuple[str, bytes]:
        return file_name(prepared.kind, approval_id), render(replace(file, approval_id=approval_id))

    async with dispatch.or_withdrawn(house, prepared):
        approval = await house.stored(
            house.store.approvals.request,
            prepared.send_id,
            expires_at=expires.timestamp(),
            asked=file.fingerprint,
            letter=letter,
        )
    if handwritten.are_allowed(house):
        released = await handwritten.release(house, order, prepared.send_id, approval.approval_id)
        if released is not None:
            return released
    async with dispatch.or_withdrawn(house, prepared):
        await house.stored(house.vault.write_pending, *letter(approval.approval_id))
        await house.stored(house.store.approvals.written, approval.approval_id)
    return replace(
        await awaiting(house, await house.stored(house.store.outbox.get, prepared.send_id)),
        warnings=tuple(finding.message for finding in findings),
        preview=await house.stored(preview_of, order),
    )


async def standing(house: House, order: Order) -> SendView | None:
    """The send that a repeated identical call means: one still under way, or one that a person approved today."""
    await house.stored(house.store.approvals.expire)
    send = await house.stored(house.store.outbox.latest, order.account.name, order.tool, order.digest)
    if send is None:
        return None
    if send.state is State.AWAITING_APPROVAL:
        if await _cannot_be_read(house, send):
            await house.stored(house.store.outbox.withdraw, send.send_id)
            return None
        return replace(await awaiting(house, send), preview=await house.stored(preview_of, order))
    if send.state in _AT_WORK:
        return await already(house, send)
    age = house.store.clock.wall() - send.created_at
    return await already(house, send) if send.approval_id and age < LIFETIME.total_seconds() else None


async def _cannot_be_read(house: House, send: Send) -> bool:
    """Its file is gone, or was never written because we died on the way: nobody can approve what nobody can read."""
    is_being_written = house.store.clock.wall() - send.created_at <= _WRITING_SECONDS
    path = await house.stored(house.vault.find, file_name(send.kind, send.approval_id))
    return path is None and not is_being_written


async def write_letters(house: House) -> None:
    """Put into the vault what a process died over between promising a letter and writing it."""

    def write() -> None:
        for letter in house.store.approvals.unwritten():
            asked_at = house.store.approvals.get(letter.approval_id).created_at
            if house.store.clock.wall() - asked_at <= _WRITING_SECONDS:
                continue
            if house.vault.find(letter.name) is None:
                house.vault.write_pending(letter.name, letter.content)
            house.store.approvals.written(letter.approval_id)

    await house.stored(write)


async def awaiting(house: House, send: Send) -> SendView:
    approval = await house.stored(house.store.approvals.get, send.approval_id)
    expires = house.shown_time(approval.expires_at)
    return SendView(
        status="needs_approval",
        account=send.account,
        message=f"Nothing was sent yet: a person must approve it first. {_HOW}",
        send_id=send.send_id,
        approval=ApprovalView(approval.approval_id, expires, _HOW),
    )


def file_name(kind: str, approval_id: str) -> str:
    return f"{kind}_{approval_id}.md"


def approval_id_of(name: str) -> str:
    """The approval a file of ours is named after; empty for what a person named."""
    found = _FILE_NAME.fullmatch(name)
    return found[1] if found else ""
