"""Looking at what is on its way out, and stopping what has not left."""

from __future__ import annotations

from datetime import UTC, datetime

from postroom.service.auditing import Record, audit
from postroom.service.house import House
from postroom.service.receipts import receipt
from postroom.service.search import check_page
from postroom.service.views import OutboxPage, OutboxRow, SendView
from postroom.store import Send, State
from postroom.store.send_states import FINISHED


async def list_outbox(
    house: House, *, account: str | None = None, include_finished: bool = False, limit: int = 20, offset: int = 0
) -> OutboxPage:
    """Newest first. What needs a person is always among it."""
    check_page(limit, offset)
    await house.stored(house.store.approvals.expire)
    states = [state for state in State if include_finished or state not in FINISHED]
    name = house.accounts.named(account).name if account is not None else None
    page = await house.stored(house.store.outbox.list, account=name, states=states, limit=limit, offset=offset)
    return OutboxPage(tuple(map(_row, page.items)), page.total or 0, limit, offset, page.has_more)


async def cancel_send(house: House, send_id: str) -> SendView:
    """A state change: either it is stopped for certain, or the answer is a Conflict."""
    send = await house.stored(house.store.outbox.cancel, send_id)
    await audit(house, Record.of_send(send, "cancel_send", "agent", house.now()))
    return await receipt(house, send)


def _row(send: Send) -> OutboxRow:
    return OutboxRow(
        send_id=send.send_id,
        account=send.account,
        kind=send.kind,
        state=send.state.value,
        recipients=len(send.recipients),
        created=_iso(send.created_at),
        updated=_iso(send.updated_at),
        attempts=send.attempt,
        not_before=_iso(send.not_before) if send.not_before else "",
        reason=(send.outcome or {}).get("reason", ""),
        approval_id=send.approval_id,
    )


def _iso(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")


async def show_send(house: House, send_id: str) -> tuple[OutboxRow, tuple[str, ...], tuple[str, ...]]:
    """A send, whom it is for, and every state it went through."""
    send = await house.stored(house.store.outbox.get, send_id)
    events = await house.stored(house.store.outbox.events, send_id)
    steps = tuple(
        f"{_iso(event.at)} {event.state.value}" + (f" #{event.attempt}" * (event.attempt > 0)) for event in events
    )
    return _row(send), send.recipients, steps
