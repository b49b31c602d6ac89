"""Accounts whose login was refused. Nothing is submitted for them until it is time to try again, and users are told.

A server that sees the wrong password again and again locks the account, so each refusal doubles the pause. It ends with
the first login that works.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from postroom.store.clock import Clock
from postroom.store.database import Database
from postroom.store.sends.send_rows import among
from postroom.store.sends.states import WORKABLE

_FIRST_PAUSE, _LONGEST_PAUSE = 900.0, 6 * 3600.0
# All that waits: what was tried and refused, and what was parked before it was tried at all.
_WAKE = (
    "UPDATE outbox SET wake_at = coalesce(not_before, 0)"
    " WHERE owner IS NULL AND state IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class Pause:
    """`probe_at`: when a submission may try the login again."""

    account: str
    reason: str
    since: float
    failures: int
    probe_at: float

    def lasts(self, now: float) -> bool:
        """A pause longer than any was begun by a clock that has been put right since."""
        return 0 < self.probe_at - now <= _LONGEST_PAUSE


class Pauses:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def all(self, *, waits: bool = True) -> tuple[Pause, ...]:
        """Longest first. Cheap enough for every call: the table is read again only after somebody wrote to the file."""
        return self._database.latest(_all, waits=waits)

    def of(self, account: str) -> Pause | None:
        return next((pause for pause in self.all() if pause.account == account), None)

    def login_refused(self, account: str, reason: str) -> Pause:
        """Begin a pause, or make it longer."""
        now, earlier = self._clock.wall(), self.of(account)
        failures = earlier.failures + 1 if earlier else 1
        pause = min(_FIRST_PAUSE * 2 ** min(failures - 1, 10), _LONGEST_PAUSE)
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO account_pauses (account, reason, since, failures, probe_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (account, reason, earlier.since if earlier else now, failures, now + pause),
            )
        return Pause(account, reason, earlier.since if earlier else now, failures, now + pause)

    def login_worked(self, account: str) -> bool:
        """End the account's pause and wake what waited for it. False where there was none."""
        if self.of(account) is None:
            return False
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM account_pauses WHERE account = ?", (account,))
            connection.execute(f"{_WAKE} AND account = ?", (among(WORKABLE), account))
        return True

    def try_soon(self) -> None:
        """A new start may come with a new password: the next submission tries the login at once."""
        if self.all():
            with self._database.transaction() as connection:
                connection.execute("UPDATE account_pauses SET probe_at = 0")
                connection.execute(f"{_WAKE} AND account IN (SELECT account FROM account_pauses)", (among(WORKABLE),))  # noqa: S608 (ours)


def _all(connection: sqlite3.Connection) -> tuple[Pause, ...]:
    rows = connection.execute("SELECT * FROM account_pauses ORDER BY since").fetchall()
    return tuple(Pause(**dict(row)) for row in rows)
