"""The values of a query's operators: days, spans of time, sizes."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

from postroom.model.query_tokens import refusal

_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})\Z", re.ASCII)
_DATETIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")
_SPAN = re.compile(r"(\d{1,5})([hdwmy])\Z", re.IGNORECASE | re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([kmg]?)(?:i?b)?\Z", re.IGNORECASE | re.ASCII)
_UNIT_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_UNIT_TIME = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def read_moment(operator: str, value: str) -> datetime:
    """A day (its first moment, UTC) or an ISO date and time, always answered in UTC."""
    try:
        if day := _DAY.match(value):
            return datetime(*map(int, day.groups()), tzinfo=UTC)  # type: ignore[misc, arg-type]
        if _DATETIME.match(value):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise refusal(f"{operator}: needs a date like {operator}:2026-01-31 or {operator}:2026-01-31T09:00:00+01:00.")


def read_span(operator: str, value: str, now: datetime) -> datetime:
    """The moment that long ago. Months and years go by the calendar."""
    span = _SPAN.match(value)
    if span is None:
        raise refusal(f"{operator}: needs a span like {operator}:7d, 2w, 3m or 1y.")
    count, unit = int(span[1]), span[2].lower()
    try:
        if unit in _UNIT_TIME:
            return now.astimezone(UTC) - count * _UNIT_TIME[unit]
        return _months_before(now.astimezone(UTC), count * (12 if unit == "y" else 1))
    except (ValueError, OverflowError):
        raise refusal(f"{operator}:{value} reaches back before the calendar begins. Choose a shorter span.") from None


def read_size(operator: str, value: str) -> int:
    size = _SIZE.match(value)
    if size is None:
        raise refusal(f"{operator}: needs a size like {operator}:5M, 300K or a number of bytes.")
    return int(float(size[1]) * _UNIT_BYTES[size[2].lower()]) if "." in size[1] else _whole(size)


def _whole(size: re.Match[str]) -> int:
    return int(size[1]) * _UNIT_BYTES[size[2].lower()]


def _months_before(now: datetime, months: int) -> datetime:
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    if year < 1:
        raise ValueError
    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))
