"""Looking at what is on its way out, and stopping what has not left."""

from __future__ import annotations

from datetime import UTC, datetime

from postroom.mime.visible import visible_email
from postroom.service.auditing import Record, audit
from postroom.service.house import House
from postroom.service.receipts import receipt
from postroom.service.search import check_page
from postroom.service.views import OutboxPage, OutboxRow, SendView
from postroom.store import Send


async def list_outbox(
    house: House, *, account: str | None = None, include_finished: bool = False, limit: int = 20, offset: int = 0
) -> OutboxPage:
    """Newest first. Without the finished ones: what is on its way, what needs a person, and what did not leave in the
    last days, unless somebody stopped it."""
    check_page(limit, offset)
    await house.stored(house.store.approvals.expire)
    name = house.accounts.named(account).name if account is not None else None
    look = house.store.outbox.list if include_finished else house.store.outbox.list_open
    page = await house.stored(look, account=name, limit=limit, offset=offset)
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
        reason=_reason(send),
        approval_id=send.approval_id,
    )


def _reason(send: Send) -> str:
    outcome = send.outcome or {}
    refused = outcome.get("refused") or {}
    said = [outcome.get("reason", ""), f"{len(refused)} recipient(s) refused" if refused else ""]
    return " ".join(filter(None, said))


def _iso(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")


async def show_send(house: House, send_id: str) -> tuple[OutboxRow, tuple[str, ...], tuple[str, ...]]:
    """A send, whom it is for, and every state it went through."""
    send = await house.stored(house.store.outbox.get, send_id)
    events = await house.stored(house.store.outbox.events, send_id)
    steps = tuple(
        f"{_iso(event.at)} {event.state.value}" + (f" #{event.attempt}" * (event.attempt > 0)) for event in events
    )
    return _row(send), tuple(map(visible_email, send.recipients)), steps
