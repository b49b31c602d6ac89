"""How many messages an account may send in a rolling window, counted over every process and restart.

A send holds one token, stamped when it is reserved and stamped again whenever a submission begins, so that the count is
true for what is sent late (held, scheduled, retried) too. The token comes back only when the send ends before any
submission began; from the first SENDING on it stays, even after a definite rejection: a server was bothered, and a
caller that hammers a refusing server is what a limit is for.

A token leaves the window when the boot clock proves that the window is over: setting the wall clock neither frees nor
blocks. A reboot takes the proof away, so the tokens found after one count as no older than the boot. That costs at
most one window of waiting.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass

from postroom.model.errors import RateLimited
from postroom.store.clock import Clock, Moment, elapsed
from postroom.store.database import Database


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

    def check(self, account: str) -> None:
        """RateLimited when one more could not be sent now. Nothing is taken."""
        status = self.status(account)
        if status.retry_after:
            raise _limited(account, status, self.limit)

    def take(self, connection: sqlite3.Connection, account: str, send_id: str) -> None:
        """Take this send's token, or stamp the one it has again. RateLimited when the others fill the window."""
        status = self._status(connection, account, but=send_id)
        if status.retry_after:
            raise _limited(account, status, self.limit)
        self.prune(connection)
        now = self._clock.now()
        connection.execute(
            "INSERT OR REPLACE INTO rate_tokens (send_id, account, wall, boottime, boot_id) VALUES (?, ?, ?, ?, ?)",
            (send_id, account, now.wall, now.boottime, now.boot_id),
        )

    def give_back(self, connection: sqlite3.Connection, send_id: str) -> None:
        connection.execute("DELETE FROM rate_tokens WHERE send_id = ?", (send_id,))

    def prune(self, connection: sqlite3.Connection) -> None:
        """At every token taken too: what has left the window must not be found in it again after a reboot."""
        now = self._clock.now()
        for row in connection.execute("SELECT * FROM rate_tokens").fetchall():
            if elapsed(_stamp(row), now) > self.limit.window:
                self.give_back(connection, row["send_id"])

    def adopt(self) -> None:
        """Stamp the tokens of earlier boots again, with the age that is certain, so that they grow old in this one
        whatever the wall clock does from now on."""
        now = self._clock.now()
        foreign = "SELECT * FROM rate_tokens WHERE boot_id != ?"
        with self._database.read() as connection:
            if connection.execute(foreign, (now.boot_id,)).fetchone() is None:
                return
        with self._database.transaction() as connection:
            for row in connection.execute(foreign, (now.boot_id,)).fetchall():
                age = elapsed(_stamp(row), now)
                connection.execute(
                    "UPDATE rate_tokens SET wall = ?, boottime = ?, boot_id = ? WHERE send_id = ?",
                    (now.wall - age, now.boottime - age, now.boot_id, row["send_id"]),
                )

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


def _limited(account: str, status: RateStatus, limit: RateLimit) -> RateLimited:
    window = "hour" if limit.window == 3600 else f"{limit.window:g} seconds"
    minutes = max(1, math.ceil((status.retry_after - 1) / 60))
    return RateLimited(
        f"Rate limit exceeded ({limit.sends} emails/{window}). Next send available in {minutes} "
        f"minute{'s' if minutes != 1 else ''}. Nothing was sent from the account {account}; try again then.",
        reason="send_limit",
        details={"account": account, "limit": limit.sends, "window_seconds": limit.window},
        retry_after=float(status.retry_after),
    )
