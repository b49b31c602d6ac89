"""Keeps to the pace the provider allows, as its own Capabilities say after `connect`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from postroom.model.capabilities import Capabilities
from postroom.providers.layers.layered import Call, wait_for

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
        self._spacing = 0.0
        self._head_start = 0.0  # how far ahead of the even pace a burst may run
        self._due = 0.0  # when the next call would start at an even pace
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
        self._spacing = 1 / capabilities.requests_per_second if capabilities.requests_per_second else 0.0
        self._head_start = self._spacing * (max(1, capabilities.burst or 1) - 1)
        if capabilities.burst and self._at_once is None:
            import anyio

            self._at_once = anyio.Semaphore(capabilities.burst)

    def _paced(self, call: Call) -> Call:
        async def paced(*args: Any, **kwargs: Any) -> Any:
            if self._spacing:
                await self._turn()
            if self._at_once is None:
                return await call(*args, **kwargs)
            async with self._at_once:
                return await call(*args, **kwargs)

        return paced

    async def _turn(self) -> None:
        """The start is reserved before waiting for it, so that parallel callers queue up instead of colliding."""
        now = self._clock()
        due = max(self._due, now)
        self._due = due + self._spacing
        wait = due - self._head_start - now
        if wait > 0:
            await self._sleep(wait)
