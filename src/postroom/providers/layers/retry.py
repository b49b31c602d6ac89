"""Retries when a mail server did not answer or said "later": read methods only.

Write methods are never repeated here. After a write whose response was lost, the caller decides; for `submit` only
the outbox can.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from postroom.model.errors import PostroomError
from postroom.providers.layers.layered import Call, wait_for
from postroom.providers.layers.verbs import READING

T = TypeVar("T")

# A mirror asks these of one folder after the other, round after round: one that is refused delays the others only once.
_NEXT_ROUND = frozenset({"newest", "folder_changes", "identify"})


@dataclass(frozen=True, slots=True)
class Retry:
    """At most `attempts` calls within `patience` seconds. Around calls that retry their own requests (over HTTP)
    it adds nothing: an error that was retried below is passed on as it is.

    The wait doubles from `first_wait` with up to half as much again at random, or is what the server asked for. When it
    would exceed the patience, the error is raised at once with its `retry_after`.
    """

    attempts: int = 4
    first_wait: float = 0.25
    patience: float = 10.0
    sleep: Callable[[float], Awaitable[None]] = wait_for
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def __call__(self, verb: str, call: Call) -> Call:
        if verb not in READING:
            return call

        async def retried(*args: Any, **kwargs: Any) -> Any:
            return await self.repeat(lambda: call(*args, **kwargs), refused_too=verb not in _NEXT_ROUND)

        return retried

    async def repeat(self, call: Callable[[], Awaitable[T]], *, refused_too: bool = True) -> T:
        """Until it answers, fails for good, or the attempts or the patience are used up. `refused_too`: what a server
        refuses of one folder, too."""
        deadline = self.clock() + self.patience
        attempt = 1
        while True:
            try:
                return await call()
            except PostroomError as error:
                if not error.retryable or error.tries > 1 or (error.refused_folder and not refused_too):
                    raise
                wait = self._wait(attempt, error.retry_after)
                if attempt >= self.attempts or self.clock() + wait > deadline:
                    error.tries = attempt
                    raise
            await self.sleep(wait)
            attempt += 1

    def _wait(self, attempt: int, asked: float | None) -> float:
        own = self.first_wait * 2.0 ** (attempt - 1) * (1 + self.chance() / 2)
        return own if asked is None else max(asked, own)
