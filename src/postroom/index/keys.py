"""Row ids that follow the date: seconds since 1970 in the high bits, a counter within the second in the low bits."""

from __future__ import annotations

import math
import sqlite3
from datetime import datetime

COUNTER_BITS = 20
UNDATED = -(1 << 60)  # before any date: messages without one come last
DATED = -(1 << 57)  # keys of dated messages are above, those of undated ones below


def first_key(moment: datetime) -> int:
    """The lowest key a message dated at or after `moment` can have."""
    return math.ceil(moment.timestamp()) << COUNTER_BITS


class FreeKeys:
    """Keys for messages that are about to be written: of each second those above the ones that it has."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._latest: dict[int, int] = {}  # by the first key of a second

    def next(self, moment: float | None) -> int:
        """`moment` is in seconds since 1970; None for a message without a date."""
        start = UNDATED if moment is None else math.floor(moment) << COUNTER_BITS
        while True:
            end = DATED if start < DATED else start + (1 << COUNTER_BITS)
            latest = self._latest[start] if start in self._latest else self._in_file(start, end)
            if latest + 1 < end:
                self._latest[start] = latest + 1
                return latest + 1
            start = end  # a million messages in one second: use the next second

    def _in_file(self, start: int, end: int) -> int:
        sql = "SELECT max(id) FROM mail WHERE id >= ? AND id < ?"
        (last,) = self._connection.execute(sql, (start, end)).fetchone()
        return start - 1 if last is None else int(last)
