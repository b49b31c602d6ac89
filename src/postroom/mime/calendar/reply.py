"""The answer to an invitation (iTIP REPLY, RFC 5546, 3.2.3): the lines that identify the event as its organizer wrote
them, and one's own line with the answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, Literal

from postroom.mime.calendar.events import Event, moment_of
from postroom.mime.calendar.lines import lines_of
from postroom.model.address import Address

Answer = Literal["accept", "decline", "tentative"]
STATUS: Final[dict[Answer, str]] = {"accept": "ACCEPTED", "decline": "DECLINED", "tentative": "TENTATIVE"}
_REPEATED: Final = ("UID", "SEQUENCE", "RECURRENCE-ID", "DTSTART", "DTEND", "SUMMARY", "ORGANIZER")
_MAX_ZONE_LINES: Final = 400
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_UNSAFE_IN_NAME: Final = re.compile(r'[\x00-\x1f\x7f"]')


def reply_to(invitation: bytes, event: Event, me: Address, answer: Answer, comment: str, now: datetime) -> str:
    """Lines end with CRLF and are folded. The time tells the organizer which of two answers is the later one; it is
    never before the invitation's."""
    repeated = [event.lines[name].written for name in _REPEATED if name in event.lines]
    name = _UNSAFE_IN_NAME.sub("", me.name)
    own = f"ATTENDEE;PARTSTAT={STATUS[answer]}" + (f';CN="{name}"' if name else "") + f":mailto:{me.email}"
    lines = [
        *("BEGIN:VCALENDAR", "PRODID:-//Postroom//Postroom//EN", "VERSION:2.0", "METHOD:REPLY"),
        *_zones(invitation, repeated),
        *("BEGIN:VEVENT", f"DTSTAMP:{_stamp(event, now):%Y%m%dT%H%M%SZ}"),
        *repeated,
        own,
        *([f"COMMENT:{_escaped(comment)}"] if comment else []),
        *("END:VEVENT", "END:VCALENDAR"),
    ]
    return "".join(_folded(_CONTROLS.sub(" ", line)) for line in lines)


def _stamp(event: Event, now: datetime) -> datetime:
    second = now.astimezone(UTC).replace(microsecond=0)
    line = event.lines.get("DTSTAMP")
    moment = moment_of(line) if line else None
    if moment is not None and isinstance(moment.at, datetime) and moment.at.tzinfo is UTC:  # as RFC 5545 demands
        return max(second, moment.at)
    return second


def _zones(invitation: bytes, repeated: list[str]) -> list[str]:
    """The definitions of the zones that the repeated lines name; none if something else stands in one, which would
    become part of the answer unseen."""
    if not any("TZID=" in line.upper() for line in repeated):
        return []
    found: list[str] = []
    path: list[str] = []
    for line in lines_of(invitation):
        what = line.value.upper()
        if line.name == "BEGIN" and (path or what == "VTIMEZONE"):
            path.append(what)
        if not path:
            continue
        found.append(line.written)
        is_foreign = path[1:] not in ([], ["STANDARD"], ["DAYLIGHT"]) or (line.name == "END" and what != path[-1])
        if is_foreign or len(found) > _MAX_ZONE_LINES:
            return []
        if line.name == "END":
            path.pop()
    return found if not path else []


def _escaped(text: str) -> str:
    for plain, written in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\r\n", "\n"), ("\n", "\\n")):
        text = text.replace(plain, written)
    return text


def _folded(line: str) -> str:
    """At most 75 bytes a line; no character is cut."""
    pieces, piece, size = [], "", 0
    for char in line:
        width = len(char.encode("utf-8", "replace"))
        if size + width > 74:
            pieces.append(piece)
            piece, size = " ", 1
        piece += char
        size += width
    return "\r\n".join([*pieces, piece]) + "\r\n"
