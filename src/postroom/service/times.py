"""Times as they are shown: in the operator's zone, and several in a list short, with their common UTC offset once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

_LENGTH = len("2026-11-16T12:24:05+01:00")


def shown_moment(moment: datetime, zone: tzinfo | None, timespec: str = "seconds") -> str:
    """ISO 8601 in that zone (None: the machine's own), with its offset."""
    try:
        moment = moment.astimezone(zone)
    except (OverflowError, ValueError, OSError):  # a date at either end of the calendar has no other offset
        return moment.isoformat(timespec=timespec)
    is_whole = not moment.microsecond and timespec == "seconds"  # without a timespec it is a quarter faster
    return moment.isoformat() if is_whole else moment.isoformat(timespec=timespec)


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
