"""How many sends may leave an account in a rolling window, counted over every process and restart.

A send holds one token, stamped when it is reserved and stamped anew whenever a submission begins, so that the count is
true for what left late (held, scheduled, tried again) too. The token comes back only when the send ends before any
submission began; from the first SENDING on it stays, even after a definite rejection: a server was bothered, and a
caller that hammers a refusing server is what a limit is for.

Ages within one boot are taken from the boot clock: setting the wall clock neither frees nor blocks. Across a reboot
only the wall clock is left; a stamp from its future counts as inside the window.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass

from postroom.model.errors import RateLimited
from postroom.store.clock import Clock, Moment, elapsed
from postroom.store.database import Database

_KEPT_SECONDS = 2 * 86_400.0


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `sends` in any `window` seconds."""

    sends: int = 10
    window: float = 3600.0


@dataclass(frozen=True, slots=True)
class RateStatus:
    """`retry_after`: whole seconds until one more is possible; 0 means now."""

    used: int
    limit: int
    retry_after: int


class Rate:
    def __init__(self, database: Database, clock: Clock, limit: RateLimit) -> None:
        self._database = database
        self._clock = clock
        self.limit = limit

    def status(self, account: str) -> RateStatus:
        with self._database.read() as connection:
            return self._status(connection, account, but="")

    def take(self, connection: sqlite3.Connection, account: str, send_id: str) -> None:
        """Take this send's token, or stamp the one it has anew. RateLimited when the others fill the window."""
        status = self._status(connection, account, but=send_id)
        if status.retry_after:
            raise _limited(status, self.limit)
        now = self._clock.now()
        connection.execute(
            "INSERT OR REPLACE INTO rate_tokens (send_id, account, wall, boottime, boot_id) VALUES (?, ?, ?, ?, ?)",
            (send_id, account, now.wall, now.boottime, now.boot_id),
        )

    def give_back(self, connection: sqlite3.Connection, send_id: str) -> None:
        connection.execute("DELETE FROM rate_tokens WHERE send_id = ?", (send_id,))

    def prune(self, connection: sqlite3.Connection) -> None:
        now, kept = self._clock.now(), max(self.limit.window, _KEPT_SECONDS)
        for row in connection.execute("SELECT * FROM rate_tokens").fetchall():
            if elapsed(_stamp(row), now) > kept:
                self.give_back(connection, row["send_id"])

    def _status(self, connection: sqlite3.Connection, account: str, *, but: str) -> RateStatus:
        now, limit = self._clock.now(), self.limit
        rows = connection.execute(
            "SELECT wall, boottime, boot_id FROM rate_tokens WHERE account = ? AND send_id != ?", (account, but)
        )
        ages = (elapsed(_stamp(row), now) for row in rows)
        # A token exactly as old as the window is inside: two ends of one interval belong to it.
        remaining = sorted(limit.window - age for age in ages if age <= limit.window)
        if len(remaining) < limit.sends:
            return RateStatus(len(remaining), limit.sends, 0)
        wait = remaining[len(remaining) - limit.sends] if limit.sends > 0 else limit.window
        return RateStatus(len(remaining), limit.sends, math.floor(wait) + 1)


def _stamp(row: sqlite3.Row) -> Moment:
    return Moment(row["wall"], row["boottime"], row["boot_id"])


def _limited(status: RateStatus, limit: RateLimit) -> RateLimited:
    window = "hour" if limit.window == 3600 else f"{limit.window:g} seconds"
    minutes = max(1, math.ceil((status.retry_after - 1) / 60))
    return RateLimited(
        f"Rate limit exceeded ({limit.sends} emails/{window}). Next send available in {minutes} "
        f"minute{'s' if minutes != 1 else ''}. Nothing was sent; try again then.",
        details={"limit": limit.sends, "window_seconds": limit.window},
        retry_after=float(status.retry_after),
    )
