"""A service's quota, respected on our side: requests, units, and how many run at once."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from postroom.model.errors import RateLimited
from postroom.providers.layers.layered import wait_for
from postroom.providers.layers.pace import Pace

if TYPE_CHECKING:
    import anyio


_LONGEST_HOLD = 900.0  # seconds


@dataclass(frozen=True, slots=True)
class Rate:
    per_second: float
    burst: float = 1


class Quota:
    """One per account. A provider method makes many requests of different cost, so each request
    is charged separately: 1 of `requests` and its own number of `units`.

    A request waits its turn; one that would wait longer than `patience` is refused with RateLimited before it is sent.
    """

    def __init__(
        self,
        *,
        requests: Rate | None = None,
        units: Rate | None = None,
        at_once: int | None = None,
        patience: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = wait_for,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests, self._units = (
            Pace(rate.per_second, rate.burst, clock=clock) if rate else None for rate in (requests, units)
        )
        self._held = Pace(1e9, 1e9, clock=clock)  # no limit of its own; pauses when the service says so
        self._at_once = at_once
        self._slots: anyio.Semaphore | None = None
        self._patience = patience
        self._sleep = sleep

    @asynccontextmanager
    async def spend(self, units: float = 1) -> AsyncIterator[None]:
        async with self._semaphore() or nullcontext():
            if wait := self._reserved(units):
                await self._sleep(wait)
            yield

    def hold(self, seconds: float) -> None:
        """No requests before the time that the service named; but where it named hours, one asks again every quarter
        of an hour. Maintenance ends early, a clock may be wrong, and until then no mail could be read."""
        self._held.hold(min(seconds, _LONGEST_HOLD))

    def _reserved(self, units: float) -> float:
        """Reserves all of it or nothing."""
        prices = [(self._requests, 1.0), (self._units, units), (self._held, 1.0)]
        paces = [(pace, price) for pace, price in prices if pace is not None]
        wait = max(pace.wait_for(price) for pace, price in paces)
        if wait > self._patience:
            raise RateLimited(
                f"The mail service's limit for this account is reached. Try again in {wait:.0f} seconds.",
                retry_after=wait,
            )
        for pace, price in paces:
            pace.spend(price)
        return wait

    def _semaphore(self) -> anyio.Semaphore | None:
        if self._at_once and self._slots is None:
            import anyio

            self._slots = anyio.Semaphore(self._at_once, fast_acquire=True)  # a free one costs no round of the loop
        return self._slots
