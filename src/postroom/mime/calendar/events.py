"""What a calendar file contains: its method, and its events with the people in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from postroom.mime.calendar.lines import Line, lines_of
from postroom.model.address import Address

MAX_EVENTS: Final = 50
MAX_ATTENDEES: Final = 500
_WHEN: Final = re.compile(r"(\d{8})(?:T(\d{6})(Z?))?\Z")
_ZONE: Final = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2}\Z")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time with its zone if it is known, by the name under which it was given; or a whole day."""

    at: datetime | date
    zone: str = ""  # as given; empty for UTC and for times that are the same on every clock


@dataclass(frozen=True, slots=True)
class Person:
    address: Address
    status: str = ""  # PARTSTAT in capitals
    written: str = ""  # the whole line


@dataclass(slots=True)
class Event:
    """The first of each property counts; `lines` has them as they were written."""

    kind: str  # VEVENT | VTODO
    lines: dict[str, Line] = field(default_factory=dict)
    attendees: list[Person] = field(default_factory=list)

    def text(self, name: str) -> str:
        return self.lines[name].text if name in self.lines else ""

    def moment(self, name: str) -> Moment | None:
        return moment_of(self.lines[name]) if name in self.lines else None

    @property
    def organizer(self) -> Address | None:
        line = self.lines.get("ORGANIZER")
        return _address(line) if line else None

    @property
    def sequence(self) -> int:
        text = self.text("SEQUENCE")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@dataclass(slots=True)
class Calendar:
    method: str = ""  # in capitals
    events: list[Event] = field(default_factory=list)


def parse_calendar(content: bytes) -> Calendar:
    """Never raises: what cannot be understood is left out. Alarms and time zone definitions are skipped."""
    calendar, path = Calendar(), list[str]()
    for line in lines_of(content):
        if line.name == "BEGIN":
            path.append(line.value.upper())
            if path[1:] in (["VEVENT"], ["VTODO"]) and len(calendar.events) < MAX_EVENTS:
                calendar.events.append(Event(path[-1]))
        elif line.name == "END":
            del path[-1:]
        elif path == ["VCALENDAR"] and line.name == "METHOD":
            calendar.method = line.value.upper()[:20]
        elif path[1:] in (["VEVENT"], ["VTODO"]) and calendar.events:
            _add(calendar.events[-1], line)
    return calendar


def _add(event: Event, line: Line) -> None:
    if line.name != "ATTENDEE":
        event.lines.setdefault(line.name, line)
    elif len(event.attendees) < MAX_ATTENDEES:
        status = line.parameters.get("PARTSTAT", "").upper()
        event.attendees.append(Person(_address(line), status, line.written))


def moment_of(line: Line) -> Moment | None:
    found = _WHEN.match(line.value)
    if found is None:
        return None
    day, time, is_utc = found.groups()
    try:
        if time is None:
            return Moment(datetime.strptime(day, "%Y%m%d").date())  # noqa: DTZ007 (a whole day has no zone)
        at = datetime.strptime(day + time, "%Y%m%d%H%M%S")  # noqa: DTZ007
    except ValueError:
        return None
    if is_utc:
        return Moment(at.replace(tzinfo=UTC))
    name = line.parameters.get("TZID", "")
    return Moment(at.replace(tzinfo=_zone(name)), name)


def _zone(name: str) -> ZoneInfo | None:
    """None for names of other systems ("W. Europe Standard Time"): their time is shown as it stands, with the name."""
    if not _ZONE.match(name):
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return None


def _address(line: Line) -> Address:
    value = line.value
    if value[:7].lower() == "mailto:":
        value = value[7:]
    return Address(value.strip()[:320], line.parameters.get("CN", "")[:200])
