"""Times as they are shown: in the operator's zone, and several in a list short, with their common UTC offset once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import Final

_DAY: Final = 86_400  # seconds
_SPAN: Final = 4 * _DAY  # clocks that were changed stay so for longer
_EPOCH: Final = date(1970, 1, 1).toordinal()
_MINUTES: Final = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(_DAY // 60)]
_LENGTH = len("2026-11-16T12:24:05+01:00")


def shown_moment(moment: datetime, zone: tzinfo | None, timespec: str = "seconds") -> str:
    """ISO 8601 in that zone (None: the machine's own), with its offset."""
    is_plain = not moment.microsecond and timespec == "seconds" and (moment.tzinfo is UTC or moment.tzinfo is not zone)
    if is_plain and (shown := _shown_by_span(moment, zone)):
        return shown
    try:
        return moment.astimezone(zone).isoformat(timespec=timespec)
    except (OverflowError, ValueError, OSError):  # a date at either end of the calendar has no other offset
        return moment.isoformat(timespec=timespec)


def _shown_by_span(moment: datetime, zone: tzinfo | None) -> str:
    """The same in a third of the time, for a page of them; empty around a change of the clocks."""
    second = int(moment.timestamp())
    offset = _offset_of(second // _SPAN, zone, time.tzname)
    if offset is None:
        return ""
    day, second = divmod(second + offset[0], _DAY)
    minute, second = divmod(second, 60)
    return f"{_date(day)}T{_MINUTES[minute]}:{second:02}{offset[1]}"


@lru_cache(maxsize=4096)
def _offset_of(span: int, zone: tzinfo | None, _machine: tuple[str, str]) -> tuple[int, str] | None:
    """From the first second of that span to the last: in seconds, and as it is written."""
    try:
        first, last = (
            datetime.fromtimestamp(second, UTC).astimezone(zone) for second in (span * _SPAN, (span + 1) * _SPAN)
        )
    except (OverflowError, ValueError, OSError):
        return None
    shift = first.utcoffset()
    if shift is None or shift.microseconds or shift != last.utcoffset():
        return None
    return round(shift.total_seconds()), first.isoformat()[19:]


@lru_cache(maxsize=4096)
def _date(day: int) -> str:
    return date.fromordinal(_EPOCH + day).isoformat()


def side_by_side(moments: Sequence[str]) -> tuple[str, list[str]]:
    """The offset that all of them have, and each as ``2026-11-16 12:24``. Where offsets differ, as on the two sides of
    a change of the clocks, there is none in common and each has its own behind it. An empty moment stays empty.
    """
    shown = [_to_the_minute(each) if each else "" for each in moments]
    offsets = {each[16:] for each in shown if each}
    if len(offsets) != 1:
        return "", shown
    return offsets.pop(), [each[:16] for each in shown]


def _to_the_minute(moment: str) -> str:
    if len(moment) == _LENGTH:  # as `shown_moment` writes nearly all of them
        return f"{moment[:10]} {moment[11:16]}{moment[19:]}"
    return datetime.fromisoformat(moment).isoformat(" ", "minutes")
