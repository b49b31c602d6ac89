"""Looking at what is on its way out, and stopping what has not left."""

from __future__ import annotations

from postroom.mime.visible import visible_email, visible_line
from postroom.service.auditing import Record, audit
from postroom.service.house import House
from postroom.service.receipts import receipt
from postroom.service.search import check_page
from postroom.service.showing import first_of
from postroom.service.views import OutboxPage, OutboxRow, SendView
from postroom.store import Send, State


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
    return OutboxPage(tuple(_row(house, send) for send in page.items), page.total or 0, limit, offset, page.has_more)


async def cancel_send(house: House, send_id: str) -> SendView:
    """A state change: either it is stopped for certain, or the answer is a Conflict."""
    send = await house.stored(house.store.outbox.cancel, send_id)
    await audit(house, Record.of_send(send, "cancel_send", "agent", house.now()))
    return await receipt(house, send)


def _row(house: House, send: Send) -> OutboxRow:
    return OutboxRow(
        send_id=send.send_id,
        account=send.account,
        kind=send.kind,
        state=_state(send),
        subject=visible_line(send.subject),
        recipients=first_of(tuple(map(visible_email, send.recipients))),
        created=house.shown_time(send.created_at),
        updated=house.shown_time(send.updated_at),
        attempts=send.attempt,
        not_before=house.shown_time(send.not_before) if send.not_before else "",
        reason=_reason(send),
        approval_id=send.approval_id,
    )


def _reason(send: Send) -> str:
    outcome = send.outcome or {}
    refused = outcome.get("refused") or {}
    said = [outcome.get("reason", ""), f"{len(refused)} recipient(s) refused" if refused else ""]
    return " ".join(filter(None, said))


def _state(send: Send) -> str:
    """What waits for a time that was asked for is scheduled; held is what an undo window keeps."""
    return "scheduled" if send.state is State.HELD and send.send_at else send.state.value


async def show_send(house: House, send_id: str) -> tuple[OutboxRow, tuple[str, ...], tuple[str, ...]]:
    """A send, whom it is for, and every state it went through."""
    send = await house.stored(house.store.outbox.get, send_id)
    events = await house.stored(house.store.outbox.events, send_id)
    steps = tuple(
        f"{house.shown_time(event.at)} {event.state.value}" + (f" #{event.attempt}" * (event.attempt > 0))
        for event in events
    )
    return _row(house, send), tuple(map(visible_email, send.recipients)), steps
