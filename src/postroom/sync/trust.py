"""When a mirror's answer counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from postroom.sync.coverage import Coverage

MAX_AGE = 90.0  # seconds since the server confirmed a folder: whoever follows it does so every minute at least
_AHEAD = timedelta(seconds=5)  # that a clock may be corrected by
AWAY = 30.0  # seconds for which a server that did not answer is not asked again by readers


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
        if not coverage.is_known or self.is_last_resort:
            return coverage.is_known
        return (coverage.is_whole or not whole) and self._is_fresh(coverage)

    def _is_fresh(self, coverage: Coverage) -> bool:
        """A moment that is still to come tells nothing: the clock was set back since."""
        if coverage.as_of is None or coverage.is_stale:
            return False
        return self.since <= coverage.as_of <= datetime.now(UTC) + _AHEAD


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
