"""Keeps to the request rate that the provider's Capabilities give after `connect`, unless the provider does itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from postroom.model.capabilities import Capabilities
from postroom.providers.layers.layered import Call, wait_for
from postroom.providers.layers.pace import Pace

if TYPE_CHECKING:
    import anyio


class Limit:
    """One per account: `burst` calls at once, `requests_per_second` over time. No figure means no limit.

    Calls wait their turn; none is refused. After a pause `burst` calls may start together, from then on each start is
    spaced by the rate.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[None]] = wait_for,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._pace: Pace | None = None
        self._at_once: anyio.Semaphore | None = None

    def __call__(self, verb: str, call: Call) -> Call:
        return self._learning(call) if verb == "connect" else self._paced(call)

    def _learning(self, call: Call) -> Call:
        async def connect(*args: Any, **kwargs: Any) -> Capabilities:
            capabilities: Capabilities = await call(*args, **kwargs)
            self._learn(capabilities)
            return capabilities

        return connect

    def _learn(self, capabilities: Capabilities) -> None:
        if capabilities.paces_itself:
            return
        if capabilities.requests_per_second and self._pace is None:
            self._pace = Pace(capabilities.requests_per_second, capabilities.burst or 1, clock=self._clock)
        if capabilities.burst and self._at_once is None:
            import anyio

            self._at_once = anyio.Semaphore(capabilities.burst)

    def _paced(self, call: Call) -> Call:
        async def paced(*args: Any, **kwargs: Any) -> Any:
            if self._pace is not None and (wait := self._pace.spend()):
                await self._sleep(wait)
            if self._at_once is None:
                return await call(*args, **kwargs)
            async with self._at_once:
                return await call(*args, **kwargs)

        return paced
