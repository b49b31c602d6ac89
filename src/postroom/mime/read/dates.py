"""The Date header as an aware datetime, even with an invented zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_MONTHS = {
    name: n
    for n, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)
}
_USUAL = re.compile(
    r"(?:[A-Za-z]{3},? )?(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)(?: \([^()]*\))?\Z"
)
_LONGEST = 200  # characters
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?\s*(?:Z|[+-]\d\d:?\d\d)?)?\Z")


def read_date(text: str) -> datetime | None:
    """None if unreadable. A time without a zone, or with an unknown one, is taken as UTC."""
    usual = _USUAL.match(text) if len(text) <= _LONGEST else None
    if usual is None:
        text = " ".join(text[:_LONGEST].split())
        usual = _USUAL.match(text)
    try:
        return _from_usual(usual) if usual else _from_unusual(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _from_usual(match: re.Match[str]) -> datetime:
    day, month, year, hour, minute, second, sign, hours, minutes = match.groups()
    offset = (int(hours) * 60 + int(minutes)) * (-60 if sign == "-" else 60)
    clock = int(hour), int(minute), int(second)
    return _aware(int(year), _MONTHS.get(month.lower(), 0), int(day), *clock, offset)


def _from_unusual(text: str) -> datetime | None:
    if _ISO.match(text):
        moment = datetime.fromisoformat(text.replace(" ", "T", 1).replace(" ", ""))
        zone = moment.utcoffset() or timedelta()
        return _aware(*moment.timetuple()[:6], int(zone.total_seconds()))
    from email.utils import parsedate_tz  # most dates do not need it

    found = parsedate_tz(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, *_, offset = found
    return _aware(year, month, day, hour, minute, second, offset or 0)


def _aware(year: int, month: int, day: int, hour: int, minute: int, second: int, offset: int) -> datetime:
    if not 1 < year < 9999:
        raise ValueError  # no other zone could express that moment
    zone = timezone(timedelta(seconds=offset)) if offset and abs(offset) < 86_400 else UTC
    return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
