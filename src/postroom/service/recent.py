"""A short-lived cache: folder lists and identities are needed by almost every call."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

KEPT = 5.0  # seconds: what another program changed is seen after that, what we changed at once

T = TypeVar("T")


class Recent(Generic[T]):
    """Asks again when the last answer is older than KEPT, or was forgotten."""

    def __init__(self, ask: Callable[[], Awaitable[T]], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._answer: tuple[float, T] | None = None

    async def get(self) -> T:
        if self._answer is None or self._clock() - self._answer[0] >= KEPT:
            return await self.ask_anew()
        return self._answer[1]

    async def ask_anew(self, ask: Callable[[], Awaitable[T]] | None = None) -> T:
        """`ask` in place of the usual question."""
        asked_at = self._clock()
        answer = await (ask or self._ask)()
        self._answer = (asked_at, answer)
        return answer

    def forget(self) -> None:
        self._answer = None
