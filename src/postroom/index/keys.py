"""Row ids that follow the date: seconds since 1970 in the high bits, a counter within the second in the low bits."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable
from datetime import datetime

COUNTER_BITS = 20
UNDATED = -(1 << 60)  # before any date: messages without one come last
DATED = -(1 << 57)  # keys of dated messages are above, those of undated ones below


def first_key(moment: datetime) -> int:
    """The lowest key a message dated at or after `moment` can have."""
    return math.ceil(moment.timestamp()) << COUNTER_BITS


class FreeKeys:
    """Keys for messages that are about to be written: of each second those above the ones that it has."""

    def __init__(self, connection: sqlite3.Connection, moments: Iterable[float | None] = ()) -> None:
        """`moments` of the messages, as far as they are known: those are looked up at once."""
        self._connection = connection
        self._latest = self._all_in_file({_start(moment) for moment in moments if moment is not None})

    def _all_in_file(self, starts: Iterable[int]) -> dict[int, int]:
        """By the first key of a second."""
        rows = self._connection.execute(
            "SELECT value, coalesce((SELECT max(id) FROM mail WHERE id >= value AND id < value + ?), value - 1)"
            " FROM json_each(?)",
            (1 << COUNTER_BITS, json.dumps([*starts])),
        )
        return dict(rows.fetchall())

    def next(self, moment: float | None) -> int:
        """`moment` is in seconds since 1970; None for a message without a date."""
        start = _start(moment)
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


def _start(moment: float | None) -> int:
    """The lowest key of that second."""
    return UNDATED if moment is None else math.floor(moment) << COUNTER_BITS
