"""The values of a query's operators: days, spans of time, sizes."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, tzinfo

from postroom.model.query.tokens import refusal

_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})\Z", re.ASCII)
_DATETIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")
_SPAN = re.compile(r"(\d{1,5})([hdwmy])\Z", re.IGNORECASE | re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([kmg]?)(?:i?b)?\Z", re.IGNORECASE | re.ASCII)
_UNIT_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_LARGEST = 2**63 - 1  # what SQLite and mail servers can compare
_UNIT_DAYS = {"d": 1, "w": 7}


def read_moment(operator: str, value: str, zone: tzinfo | None) -> datetime:
    """A day (its first moment in the zone) or an ISO date and time, always returned in UTC."""
    try:
        if day := _DAY.match(value):
            return _in_utc(datetime(*map(int, day.groups())), zone)  # type: ignore[arg-type] # noqa: DTZ001
        if _DATETIME.match(value):
            return _in_utc(datetime.fromisoformat(value), zone)
    except (ValueError, OverflowError, OSError):
        pass
    raise refusal(f"{operator}: needs a date like {operator}:2026-01-31 or {operator}:2026-01-31T09:00:00+01:00.")


def read_span(operator: str, value: str, now: datetime, zone: tzinfo | None) -> datetime:
    """The moment that long ago. Days, months and years follow the clock and calendar of the zone."""
    span = _SPAN.match(value)
    if span is None:
        raise refusal(f"{operator}: needs a time span like {operator}:12h, 7d, 2w, 3m or 1y.")
    count, unit = int(span[1]), span[2].lower()
    try:
        if unit == "h":
            return now.astimezone(UTC) - timedelta(hours=count)
        here = now.astimezone(zone).replace(tzinfo=None)
        if unit in _UNIT_DAYS:
            return _in_utc(here - timedelta(days=count * _UNIT_DAYS[unit]), zone)
        return _in_utc(_months_before(here, count * (12 if unit == "y" else 1)), zone)
    except (ValueError, OverflowError, OSError):
        raise refusal(f"{operator}:{value} goes back further than the calendar. Choose a shorter span.") from None


def read_size(operator: str, value: str) -> int:
    size = _SIZE.match(value)
    if size is None:
        raise refusal(f"{operator}: needs a size like {operator}:5M, 300K or a number of bytes.")
    count = int(float(size[1]) * _UNIT_BYTES[size[2].lower()]) if "." in size[1] else _whole(size)
    if count > _LARGEST:
        raise refusal(f"{operator}:{value} is more than any message can have. Choose a smaller size.")
    return count


def _in_utc(moment: datetime, zone: tzinfo | None) -> datetime:
    """A moment without an offset is in the zone, or in this machine's if that is None."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _whole(size: re.Match[str]) -> int:
    return int(size[1]) * _UNIT_BYTES[size[2].lower()]


def _months_before(now: datetime, months: int) -> datetime:
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    if year < 1:
        raise ValueError
    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))
