"""The time by which something may be forgotten for good.

A wall clock can be a month ahead for a while (an empty battery, a machine that was moved) and be put right again. So
what it says is noted first, and counts a day later, if it has only gone on from there.
"""

from __future__ import annotations

import sqlite3

from postroom.store.clock import Clock, Moment, are_of_one_boot, believed, elapsed

_A_DAY = 86_400.0


class SettledTime:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def wall(self, connection: sqlite3.Connection) -> float:
        """At least a day ago by any clock there was since; 0, before everything, where nothing is settled yet. Never
        ahead of a clock that was set back: what is made by that one is not old."""
        row = connection.execute("SELECT settled FROM settled_time").fetchone()
        return min(row["settled"], self._clock.wall()) if row is not None else 0.0

    def age(self, connection: sqlite3.Connection, then: Moment) -> float:
        """Seconds for certain. Within one boot the wall clock has no say: it may have been wrong then."""
        now = self._clock.now()
        proven = elapsed(then, now)
        return proven if are_of_one_boot(then, now) else max(proven, self.wall(connection) - then.wall)

    def look(self, connection: sqlite3.Connection) -> None:
        """What is noted now may be settled by the first look that comes a day later."""
        now, settled = self._clock.now(), self.wall(connection)
        row = connection.execute("SELECT wall, boottime, boot_id FROM settled_time").fetchone()
        noted = Moment(**dict(row)) if row is not None else None
        if noted is not None and now.wall >= noted.wall:
            if believed(noted, now) < _A_DAY:
                return
            settled = noted.wall
        connection.execute(
            "INSERT OR REPLACE INTO settled_time (only, settled, wall, boottime, boot_id) VALUES (1, ?, ?, ?, ?)",
            (min(settled, now.wall), now.wall, now.boottime, now.boot_id),
        )
