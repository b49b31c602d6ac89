"""Asking for approval: the pending file in the vault, with the whole message in it, for a person to read and move.

This module only asks. Granting is in `approvals`, which an agent's door cannot import.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import get_args

from postroom.mime.visible import guarded
from postroom.safety.judge import Finding
from postroom.service.gateway import Gateway
from postroom.service.sending import dispatch
from postroom.service.sending.approval.letter_file import pending_file
from postroom.service.sending.letter import preview_of
from postroom.service.sending.order import Order
from postroom.service.sending.receipts import already
from postroom.service.views import ApprovalView, SendView
from postroom.store import Send, State
from postroom.store.clock import Moment, elapsed
from postroom.store.sends.send_rows import SendKind
from postroom.store.sends.states import FINISHED
from postroom.store.vault.approval_file import render

LIFETIME = timedelta(hours=24)
_WRITING_SECONDS = 60.0
_FILE_NAME = re.compile(rf"(?:{'|'.join(get_args(SendKind))})_(\w+)\.md")
# For the model, so without a command that it could run: approving is a person's act.
_HOW = (
    "A person must approve it outside this conversation, in the vault folder or on the command line; the safety "
    "documentation explains how. Postroom then sends it automatically; repeat the call to see the result."
)
_AT_WORK = frozenset(State) - FINISHED - {State.PREPARED}


async def ask(gateway: Gateway, order: Order, findings: Sequence[Finding]) -> SendView:
    """Freeze the order, put it before a person, and stop."""
    created = gateway.now().astimezone(gateway.settings.server.zone)
    expires = created + LIFETIME
    shown = replace(order, notes=(*order.notes, *(guarded(finding.message) for finding in findings)))
    file = await gateway.in_thread(pending_file, shown, created, expires)  # what nobody could approve is refused here
    prepared = await dispatch.prepare(gateway, order)

    def letter(approval_id: str) -> tuple[str, bytes]:
        return file_name(prepared.kind, approval_id), render(replace(file, approval_id=approval_id))

    async with dispatch.or_withdrawn(gateway, prepared):
        approval = await gateway.in_thread(
            gateway.store.approvals.request,
            prepared.send_id,
            expires_at=expires.timestamp(),
            asked=file.fingerprint,
            letter=letter,
            is_only=True,
        )
    async with dispatch.or_withdrawn(gateway, prepared):
        await gateway.in_thread(gateway.vault.write_pending, *letter(approval.approval_id))
        await gateway.in_thread(gateway.store.approvals.written, approval.approval_id)
    return replace(
        await awaiting(gateway, await gateway.in_thread(gateway.store.outbox.get, prepared.send_id)),
        warnings=tuple(finding.message for finding in findings),
        preview=await gateway.in_thread(preview_of, order),
    )


async def standing(gateway: Gateway, order: Order) -> SendView | None:
    """The send that a repeated identical call means: one still under way, or one that a person approved today."""

    def latest() -> Send | None:
        gateway.store.approvals.expire()
        return gateway.store.outbox.latest(order.account.name, order.tool, order.digest)

    send = await gateway.in_thread(latest)
    if send is None:
        return None
    if send.state is State.AWAITING_APPROVAL:
        if await _cannot_be_read(gateway, send):
            await gateway.in_thread(gateway.store.outbox.withdraw, send.send_id)
            return None
        return replace(await awaiting(gateway, send), preview=await gateway.in_thread(preview_of, order))
    if send.state in _AT_WORK:
        return await already(gateway, send)
    is_recent = gateway.store.clock.wall() - send.created_at < LIFETIME.total_seconds()
    return await already(gateway, send) if send.approval_id and is_recent and not order.was_undone else None


async def _cannot_be_read(gateway: Gateway, send: Send) -> bool:
    """Its file is gone, or was never written because of a crash: nobody can approve what nobody can read."""

    def is_missing() -> bool:
        is_found = gateway.vault.find(file_name(send.kind, send.approval_id)) is not None
        return not is_found and not _may_be_at_work(gateway, send.approval_id)

    return await gateway.in_thread(is_missing)


def _may_be_at_work(gateway: Gateway, approval_id: str) -> bool:
    """The process that asked, writing the file. By the boot clock: a wall clock that was set back would have everybody
    wait for a process that is dead. None outlives its boot."""
    asked, now = gateway.store.approvals.get(approval_id), gateway.store.clock.now()
    since = elapsed(Moment(asked.created_at, asked.boottime, asked.boot_id), now)
    return asked.boot_id in ("", now.boot_id) and since <= _WRITING_SECONDS


async def write_letters(gateway: Gateway) -> None:
    """Write the approval files that a crashed process had requested but not yet written."""

    def write() -> None:
        for letter in gateway.store.approvals.unwritten():
            if _may_be_at_work(gateway, letter.approval_id):
                continue
            if gateway.vault.find(letter.name) is None:
                gateway.vault.write_pending(letter.name, letter.content)
            gateway.store.approvals.written(letter.approval_id)

    await gateway.in_thread(write)


async def awaiting(gateway: Gateway, send: Send) -> SendView:
    approval = await gateway.in_thread(gateway.store.approvals.get, send.approval_id)
    expires = gateway.shown_time(approval.expires_at)
    return SendView(
        status="needs_approval",
        account=send.account,
        message=f"Nothing was sent yet. {_HOW}",
        send_id=send.send_id,
        approval=ApprovalView(approval.approval_id, expires, _HOW),
    )


def file_name(kind: str, approval_id: str) -> str:
    return f"{kind}_{approval_id}.md"


def approval_id_of(name: str) -> str:
    """The approval a file of ours is named after; empty for what a person named."""
    found = _FILE_NAME.fullmatch(name)
    return found[1] if found else ""
