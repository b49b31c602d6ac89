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


def free_key(connection: sqlite3.Connection, date: datetime | None) -> int:
    """A key for one more message of that date, above those of the same second."""
    start = UNDATED if date is None else math.floor(date.timestamp()) << COUNTER_BITS
    while True:
        end = DATED if start < DATED else start + (1 << COUNTER_BITS)
        (last,) = connection.execute("SELECT max(id) FROM mail WHERE id >= ? AND id < ?", (start, end)).fetchone()
        if last is None:
            return start
        if last + 1 < end:
            return int(last) + 1
        start = end  # a million messages in one second: use the next second
