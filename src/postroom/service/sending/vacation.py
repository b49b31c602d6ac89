"""The vacation reply: shown, switched on by an order that passes the gate, switched off without a question.

Switching it off is recorded in the audit and not undoable: undoing it would be a second way to make mail leave.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from postroom.mime.render import render
from postroom.mime.visible import visible_line
from postroom.model.address import refuse_line_breaks
from postroom.model.draft import Draft
from postroom.model.errors import InvalidRequest, Unsupported
from postroom.model.message import Body
from postroom.model.native import NativeAction, Recipients
from postroom.model.vacation import EVERYONE, Vacation
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.auditing import Record, audited
from postroom.service.sending.letter import WHOLE
from postroom.service.sending.order import Order, Wishes, make_order
from postroom.service.sending.send import check_wishes
from postroom.service.views import SendView, VacationView
from postroom.service.writing import composing

_MAX_SUBJECT = 200
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
    return await audited(gateway, Record.of_call("set_vacation", gateway.now()), _stopped(opened))


async def _stopped(opened: Account) -> SendView:
    await opened.vacations.stop_vacation()
    return SendView("switched_off", opened.name, "The vacation reply is off. Switching it on again passes the gate.")


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
    return replace(order, notes=(_period(gateway, wanted), *([besides] if besides else [])))


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
    raise _wrong(field, f"{field} must be a day like 2026-12-24, or a moment like 2026-12-24T12:00:00+01:00.")


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
