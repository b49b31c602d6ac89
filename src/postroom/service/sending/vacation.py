"""The vacation reply: shown, switched on by an order that passes the gate, switched off without a question.

Switching it off is recorded in the audit and not undoable: undoing it would be a second way to make mail leave.
"""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial

from postroom.mime.render import render
from postroom.mime.visible import visible_line
from postroom.model.address import refuse_line_breaks
from postroom.model.draft import Draft
from postroom.model.errors import Conflict, InvalidRequest, Unsupported
from postroom.model.message import Body
from postroom.model.native import NativeAction, Recipients
from postroom.model.vacation import EVERYONE, Vacation
from postroom.providers.vacations import is_as_ordered
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.auditing import Record, audited
from postroom.service.sending.letter import WHOLE
from postroom.service.sending.order import Order, Wishes, make_order
from postroom.service.sending.outbox import cancel_send
from postroom.service.sending.send import check_wishes
from postroom.service.views import SendView, VacationView
from postroom.service.writing import composing
from postroom.store.sends.states import BY_THEMSELVES

_MAX_SUBJECT = 200
_UNDER_WAY = "A request to switch it on is being carried out. Call get_vacation to see whether it is off."
_BY_HAND = {
    "imap": "The user sets it where the mailbox is hosted, in the webmail's settings (vacation, out of office). "
    "Postroom can set it where the server has ManageSieve: with sieve_host and smtp_host in the account's settings.",
    "jmap": "The user sets it in the settings of the mail service.",
    "rest": "The user sets it in the settings of the mail service.",
    "local": "Nobody outside writes to a local mailbox, so it has none.",
}


@dataclass(frozen=True, slots=True)
class VacationRequest:
    """Days are dates or moments in ISO 8601; the last day is included."""

    subject: str = ""
    body: str = ""
    first_day: str = ""
    last_day: str = ""


async def get_vacation(gateway: Gateway, account: str | None = None) -> VacationView:
    opened = await _opened(gateway, account)
    found = await opened.vacations.vacation()
    shown = await gateway.in_thread(lambda: render(Body(found.text, found.html), fmt="text", keep_quoted=True))
    return VacationView(
        opened.name,
        found.enabled,
        visible_line(found.subject),
        shown.text,
        _shown(gateway, found.start),
        _shown(gateway, found.end),
        found.note,
    )


async def stop_vacation(gateway: Gateway, request: VacationRequest, account: str | None = None) -> SendView:
    if request != VacationRequest():
        raise InvalidRequest(
            "Switching the vacation reply off takes no subject, body or days. Leave them out.",
            details={"field": "enabled"},
        )
    opened = await _opened(gateway, account)
    return await audited(gateway, Record.of_call("set_vacation", gateway.now()), _stopped(gateway, opened))


async def _stopped(gateway: Gateway, opened: Account) -> SendView:
    cancelled, under_way = await _orders_stopped(gateway, opened.name)
    await opened.vacations.stop_vacation()
    told = ["The vacation reply is off."]
    if cancelled:
        orders = "1 order that was" if cancelled == 1 else f"{cancelled} orders that were"
        told.append(f"Cancelled: {orders} still in the outbox and would have switched it on.")
    told.append("Switching it on again passes the gate.")
    return SendView("switched_off", opened.name, " ".join(told), warnings=(_UNDER_WAY,) * under_way)


async def _orders_stopped(gateway: Gateway, account: str) -> tuple[int, bool]:
    """How many orders that would switch it on later, by themselves, are cancelled; and whether one could not be."""
    look = partial(gateway.store.outbox.list, account=account, states=BY_THEMSELVES, limit=-1)
    waiting = [send for send in (await gateway.in_thread(look)).items if send.kind == "vacation"]
    cancelled = 0
    for send in waiting:
        async with gateway.one_at_a_time(send.send_id):  # what is being done in this process is done first
            with suppress(Conflict):
                await cancel_send(gateway, send.send_id)
                cancelled += 1
    return cancelled, any(send.kind == "vacation" for send in (await gateway.in_thread(look)).items)


async def order_vacation(
    gateway: Gateway, request: VacationRequest, wishes: Wishes, account: str | None = None
) -> Order:
    """To everybody, from now or the first day until the last day or for ever."""
    check_wishes(wishes)
    wanted = _checked(gateway, request)
    opened = await _opened(gateway, account)
    besides = await opened.vacations.check_vacation(wanted)
    action = NativeAction(
        "vacation",
        named=Recipients(to=(EVERYONE,)),
        everyone=Recipients(to=(EVERYONE,)),
        subject=wanted.subject,
        text=wanted.text,
        start=_written(wanted.start),
        end=_written(wanted.end),
    )
    sender = (await composing.find_identity(opened, "")).address
    draft = Draft(sender=sender, to=(EVERYONE,), subject=wanted.subject, text=wanted.text)
    order = await make_order(gateway, opened, "set_vacation", "vacation", draft, wishes, native=action)
    is_in_effect = is_as_ordered(await opened.vacations.vacation(), wanted)
    subject = "" if wanted.subject else "It has no subject of its own: the mail server writes one."
    notes = tuple(note for note in (_period(gateway, wanted), subject, besides) if note)
    return replace(order, notes=notes, was_undone=not is_in_effect)


async def _opened(gateway: Gateway, account: str | None) -> Account:
    opened = await gateway.accounts.open(account)
    if not opened.capabilities.has_vacation:
        provider = opened.capabilities.provider
        raise Unsupported(provider, "vacation replies", _BY_HAND.get(provider, ""))
    return opened


def _checked(gateway: Gateway, request: VacationRequest) -> Vacation:
    """A text that a person can be shown whole, and a period that is not over."""
    refuse_line_breaks(request.subject, "subject")
    if len(request.subject) > _MAX_SUBJECT:
        raise _wrong("subject", f"The subject of a vacation reply has at most {_MAX_SUBJECT} characters.")
    text = request.body.replace("\r\n", "\n").strip()
    if not text or len(text) > WHOLE:
        raise _wrong("body", f"A vacation reply needs a body, of at most {WHOLE} characters.")
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        raise _wrong("body", "The body contains a control character. Remove it.")
    start = _moment(gateway, request.first_day, "first_day")
    end = _moment(gateway, request.last_day, "last_day", is_last=True)
    today = _midnight(gateway, gateway.now().astimezone(gateway.settings.server.zone).date())
    if end and end <= gateway.now():
        raise _wrong("last_day", "last_day is over. Give one that is still to come, or none.")
    start = start or (today if end else None)
    if start and end and end <= start:
        raise _wrong("last_day", "last_day must not be before first_day.")
    return Vacation(True, request.subject.strip(), text, start=start, end=end)


def _moment(gateway: Gateway, given: str, field: str, *, is_last: bool = False) -> datetime | None:
    """A day begins and ends at midnight of the server's time zone."""
    if not given.strip():
        return None
    try:
        day = date.fromisoformat(given.strip())
        return _midnight(gateway, day + timedelta(days=1) if is_last else day)
    except (ValueError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(given.strip())
        if moment.tzinfo is not None:
            return moment.replace(microsecond=0).astimezone(gateway.settings.server.zone)
    except (ValueError, OverflowError):
        pass
    raise _wrong(field, f"{field} must be a day like 2026-12-24, or a time like 2026-12-24T12:00:00+01:00.")


def _midnight(gateway: Gateway, day: date) -> datetime:
    zone = gateway.settings.server.zone
    midnight = datetime.combine(day, time())
    return midnight.replace(tzinfo=zone) if zone else midnight.astimezone()


def _period(gateway: Gateway, wanted: Vacation) -> str:
    begins = f"from {_shown(gateway, wanted.start)}" if wanted.start else "at once"
    ends = f"until {_shown(gateway, wanted.end)}" if wanted.end else "until somebody switches it off"
    return f"It replies {begins}, {ends}."


def _written(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def _shown(gateway: Gateway, moment: datetime | None) -> str:
    return moment.astimezone(gateway.settings.server.zone).isoformat(timespec="minutes") if moment else ""


def _wrong(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, details={"field": field})
