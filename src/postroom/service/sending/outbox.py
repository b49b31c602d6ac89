"""List the outbox, and cancel what has not been sent."""

from __future__ import annotations

from postroom.mime.visible import visible_line
from postroom.model.ids import Kind
from postroom.service.gateway import Gateway
from postroom.service.presenting import first_of
from postroom.service.reading.search import check_page
from postroom.service.sending import staging
from postroom.service.sending.auditing import Record, audit
from postroom.service.sending.receipts import counted_recipients, receipt, shown_recipients
from postroom.service.views import OutboxPage, OutboxRow, SendView
from postroom.store import Send, State
from postroom.store.handles import unknown


async def list_outbox(
    gateway: Gateway, *, account: str | None = None, include_finished: bool = False, limit: int = 20, offset: int = 0
) -> OutboxPage:
    """Newest first. Without the finished ones: what is in progress, what needs a person, and what was not sent in the
    last days, unless somebody cancelled it."""
    check_page(limit, offset)
    await gateway.in_thread(gateway.store.approvals.expire)
    name = gateway.accounts.named(account).name if account is not None else None
    look = gateway.store.outbox.list if include_finished else gateway.store.outbox.list_open
    page = await gateway.in_thread(look, account=name, owners=gateway.accounts.owners, limit=limit, offset=offset)
    return OutboxPage(tuple(_row(gateway, send) for send in page.items), page.total or 0, limit, offset, page.has_more)


async def count_unfinished(gateway: Gateway) -> dict[str, int]:
    """By state. Raises if the state file cannot be read or was replaced, without which nothing could be sent safely."""
    counted = await gateway.in_thread(gateway.store.outbox.unfinished)
    return {state.value: number for state, number in counted.items()}


async def cancel_send(gateway: Gateway, send_id: str) -> SendView:
    """A state change: either it is cancelled for certain, or this raises Conflict."""
    if not gateway.accounts.may_see((await gateway.in_thread(gateway.store.outbox.get, send_id)).account):
        raise unknown(send_id, Kind.SEND)
    send = await gateway.in_thread(gateway.store.outbox.cancel, send_id)
    await audit(gateway, Record.of_send(send, "cancel_send", "agent", gateway.now()))
    left_there = await staging.cleared(gateway, send)
    return await receipt(gateway, send, (left_there,) if left_there else ())


def _row(gateway: Gateway, send: Send) -> OutboxRow:
    return OutboxRow(
        send_id=send.send_id,
        account=send.account,
        kind=send.kind,
        state=_state(send),
        subject=visible_line(send.subject),
        recipients=first_of(shown_recipients(send)),
        created=gateway.shown_time(send.created_at),
        updated=gateway.shown_time(send.updated_at),
        attempts=send.attempt,
        not_before=gateway.shown_time(send.not_before) if send.not_before else "",
        reason=_reason(send),
        approval_id=send.approval_id,
    )


def _reason(send: Send) -> str:
    outcome = send.outcome or {}
    refused = outcome.get("refused")
    said = [outcome.get("reason", ""), f"{counted_recipients(len(refused))} refused" if refused else ""]
    return " ".join(filter(None, said))


def _state(send: Send) -> str:
    """Scheduled: waiting for a requested time. Held: kept by the undo window."""
    return "scheduled" if send.state is State.HELD and send.send_at else send.state.value


async def show_send(gateway: Gateway, send_id: str) -> tuple[OutboxRow, tuple[str, ...], tuple[str, ...]]:
    """A send, whom it is for, and every state it went through."""
    send = await gateway.in_thread(gateway.store.outbox.get, send_id)
    events = await gateway.in_thread(gateway.store.outbox.events, send_id)
    steps = tuple(
        f"{gateway.shown_time(event.at)} {event.state.value}" + (f" #{event.attempt}" * (event.attempt > 0))
        for event in events
    )
    return _row(gateway, send), shown_recipients(send), steps
