"""A calendar file as a person would tell it: what, when, where, who."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from postroom.mime.calendar.events import MAX_EVENTS, Event, Moment, parse_calendar
from postroom.mime.visible import named, visible_name
from postroom.model.address import Address

MAX_SHOWN: Final = 50
_METHODS: Final = {
    "REQUEST": "Invitation",
    "CANCEL": "Cancellation",
    "REPLY": "Answer to an invitation",
    "COUNTER": "Proposal of another time",
    "PUBLISH": "Published events",
}
_STATUS: Final = {
    "ACCEPTED": "accepted",
    "DECLINED": "declined",
    "TENTATIVE": "tentative",
    "NEEDS-ACTION": "no answer yet",
}


def summary(content: bytes) -> tuple[str, tuple[str, ...]]:
    """The text, and notes about what was left out."""
    calendar = parse_calendar(content)
    if not calendar.events:
        return "", ("The calendar file contains no events.",)
    head = [f"{_METHODS.get(calendar.method, 'Method')} ({calendar.method})"] if calendar.method else []
    shown = [*head, *("\n".join(_event(event)) for event in calendar.events)]
    notes = (f"Only the first {MAX_EVENTS} events are shown.",) if len(calendar.events) == MAX_EVENTS else ()
    return "\n\n".join(shown), notes


def _event(event: Event) -> list[str]:
    organizer = event.organizer
    rows = {
        "What": event.text("SUMMARY") or "(no title)",
        "When": when(event),
        "Repeats": event.text("RRULE"),
        "Changes the occurrence of": _shown(event.moment("RECURRENCE-ID")),
        "Where": event.text("LOCATION"),
        "Organizer": _person(organizer) if organizer else "",
        "Attendees": _attendees(event),
        "Status": event.text("STATUS").lower(),
        "Link": event.text("URL"),
    }
    lines = [f"{name}: {' '.join(value.split())}" for name, value in rows.items() if value]
    description = event.text("DESCRIPTION").strip()
    return [*lines, *(["Description:", description] if description else [])]


def when(event: Event) -> str:
    start, end = event.moment("DTSTART"), event.moment("DTEND") or event.moment("DUE")
    if start is None:
        return f"until {_shown(end)}" if end else ""
    if not isinstance(start.at, datetime):
        return f"{start.at:%A %Y-%m-%d}, all day" + (f", until {end.at:%Y-%m-%d} (exclusive)" if end else "")
    length = event.text("DURATION")
    if end is None:
        return _shown(start) + (f", for {length}" if length else "")
    if isinstance(end.at, datetime) and start.zone == end.zone and start.at.date() == end.at.date():
        return f"{start.at:%A %Y-%m-%d %H:%M} to {end.at:%H:%M}{_zone(start)}"
    return f"{_shown(start)} to {_shown(end)}"


def _shown(moment: Moment | None) -> str:
    if moment is None:
        return ""
    if not isinstance(moment.at, datetime):
        return f"{moment.at:%A %Y-%m-%d}"
    return f"{moment.at:%A %Y-%m-%d %H:%M}{_zone(moment)}"


def _zone(moment: Moment) -> str:
    """The offset if it is known, and the name as it was given."""
    assert isinstance(moment.at, datetime)
    offset = f"UTC{moment.at:%z}" if moment.at.tzinfo else ""
    offset = "UTC" if offset == "UTC+0000" and not moment.zone else offset
    known = ", ".join(filter(None, (moment.zone, offset)))
    return f" ({known})" if known else " (local time, no zone given)"


def _person(address: Address) -> str:
    return named(visible_name(" ".join(address.name.split())), address.email)


def _attendees(event: Event) -> str:
    shown = []
    for person in event.attendees[:MAX_SHOWN]:
        said = _STATUS.get(person.status, "")
        shown.append(_person(person.address) + (f" [{said}]" if said else ""))
    more = len(event.attendees) - MAX_SHOWN
    return "; ".join([*shown, *([f"and {more} more"] if more > 0 else [])])
