"""When a mirror's answer counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from postroom.sync.answering.coverage import Coverage

MAX_AGE = 90.0  # seconds since the server confirmed a folder: whoever follows it does so every minute at least
_AHEAD = timedelta(seconds=5)  # by which a clock may be corrected without a moment counting as one in the future
AWAY = 30.0  # seconds for which a server that did not answer, or refused a folder, is not asked again by readers


class TooMuch(Exception):
    """More than the event loop can spare the time for."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What the server confirmed at or after `since` counts. `is_last_resort`: it cannot be reached, so whatever the
    mirror has is better than nothing. `at_once`: the event loop itself looks."""

    since: datetime
    is_last_resort: bool = False
    at_once: bool = False

    def spare(self, is_little: bool) -> None:
        """TooMuch where the event loop would be kept busy, and a thread has to look."""
        if self.at_once and not is_little:
            raise TooMuch

    def accepts(self, coverage: Coverage, *, whole: bool = True) -> bool:
        """While the server refuses some of the folders, it is enough that the others are confirmed: it would not answer
        for those either. If it refuses all, it is not asked again at once."""
        if not coverage.is_known or self.is_last_resort:
            return coverage.is_known
        if (coverage.is_whole or not whole) and self._is_fresh(coverage):
            return True
        if coverage.refused_at is None or not self.counts(coverage.refused_at):
            return False
        if coverage.others is None:
            return coverage.refused_at > datetime.now(UTC) - timedelta(seconds=AWAY)
        return self.accepts(coverage.others, whole=whole)

    def _is_fresh(self, coverage: Coverage) -> bool:
        return self.counts(coverage.as_of) and not coverage.is_stale

    def counts(self, moment: datetime | None) -> bool:
        """What the server said in the future it said before the clock was set back, nobody knows how long ago."""
        return moment is not None and self.since <= moment <= datetime.now(UTC) + _AHEAD


class Outage:
    """A server that cannot be reached now. Readers do not wait for it again and again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self.since: datetime | None = None

    @property
    def is_on(self) -> bool:
        return self.since is not None and self._clock() < self._until

    def begin(self) -> None:
        self.since = self.since or datetime.now(UTC)
        self._until = self._clock() + AWAY

    def end(self) -> None:
        self.since = None
