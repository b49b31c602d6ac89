"""One audit entry for everything that was tried at the gate: counts and masked targets, never message content."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from postroom.model.address import masked, masked_few, parse_address
from postroom.model.errors import InvalidRequest, PermissionDenied, PostroomError, RateLimited
from postroom.service.gateway import Gateway
from postroom.service.sending.order import Order
from postroom.service.views import SendView
from postroom.store import AuditEntry, AuditReport, Send
from postroom.store.audit.entry import Result

_NOT_AUDITED = "This could not be written to the audit log; the operator should check the disk."
log = logging.getLogger("postroom.audit")
_RESULTS: dict[str, Result] = {
    "preview": "preview",
    "needs_approval": "preview",
    "dev_mode": "dev_mode",
    "rejected": "rejected",
    "unknown": "error",
}


@dataclass(frozen=True, slots=True)
class Record:
    entry: AuditEntry
    started: datetime

    @classmethod
    def of(cls, order: Order, started: datetime, action: str) -> Record:
        recipients = order.draft.recipients
        parameters: dict[str, Any] = {
            "kind": order.kind,
            "recipients": len(recipients),
            "attachments": len(order.draft.files),
            "bytes": len(order.raw),
            "confirm": order.wishes.confirm,
            "scheduled": order.wishes.send_at is not None,
        }
        entry = AuditEntry(
            action_type=action,
            result="success",
            correlation_id=secrets.token_hex(8),
            actor=order.wishes.actor,
            target=masked_few(recipients),
            parameters=parameters,
        )
        return cls(entry, started)

    @classmethod
    def of_call(cls, action: str, started: datetime, target: str = "") -> Record:
        """For a call that has no order, or none yet."""
        correlation_id = secrets.token_hex(8)
        entry = AuditEntry(action, "success", correlation_id, actor="agent", target=target)
        return cls(entry, started)

    @classmethod
    def of_send(cls, send: Send, action: str, actor: str, started: datetime) -> Record:
        """For what is done with a send that waits: by a person, or by itself."""
        entry = AuditEntry(
            action_type=action,
            result="success",
            correlation_id=secrets.token_hex(8),
            actor=actor,
            target=masked_few(send.recipients),
            parameters={"kind": send.kind, "recipients": len(send.recipients), "attempt": send.attempt},
        )
        return cls(entry, started)

    def ended(self, status: str) -> Record:
        state = {**self.entry.parameters, "state": status}
        return replace(self, entry=replace(self.entry, result=_RESULTS.get(status, "success"), parameters=state))

    def failed(self, error: PostroomError) -> Record:
        result: Result = "error"
        if isinstance(error, RateLimited):
            result = "rate_limited"
        elif isinstance(error, PermissionDenied):
            result = "rejected"
        return replace(self, entry=replace(self.entry, result=result, error=error.code))


async def audited(gateway: Gateway, record: Record, work: Awaitable[SendView]) -> SendView:
    """Do it, and audit the result once."""
    async with failure_audited(gateway, record):
        view = await work
    if await audit(gateway, record.ended(view.status)):
        return view
    return replace(view, warnings=(*view.warnings, _NOT_AUDITED))


@asynccontextmanager
async def failure_audited(gateway: Gateway, record: Record) -> AsyncIterator[None]:
    try:
        yield
    except PostroomError as error:
        error.is_audited = await audit(gateway, record.failed(error))
        raise


async def audit(gateway: Gateway, record: Record) -> bool:
    """False when it could not be written: what was done is done, and its caller must hear that, not this."""
    took = round((gateway.now() - record.started).total_seconds() * 1000)
    try:
        await gateway.in_thread(gateway.store.audit.append, replace(record.entry, duration_ms=max(took, 0)))
    except PostroomError as error:
        log.error("audit_failed", extra={"code": error.code})  # noqa: TRY400 (no traces in logs)
        return False
    return True


async def audit_call(
    gateway: Gateway,
    action: str,
    started: datetime,
    error: PostroomError | None,
    *,
    to: str,
    is_logged_only: bool,
) -> None:
    """For a call that did not come to the gate, where the dialect wants it audited. `to` is what the caller wrote."""
    record = Record.of_call(action, started, _masked_address(to))
    if error is not None:
        record = record.failed(error)
    elif is_logged_only:
        record = record.ended("dev_mode")
    await audit(gateway, record)


def _masked_address(to: str) -> str:
    """Empty for what is no address: such a text may be anything."""
    try:
        return masked(parse_address(to).email)
    except InvalidRequest:
        return ""


async def verify(gateway: Gateway) -> AuditReport:
    return await gateway.in_thread(gateway.store.audit.verify)
