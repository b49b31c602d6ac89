"""The Gateway: what every service function is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from postroom.service.open_accounts import Account, Accounts

if TYPE_CHECKING:
    from postroom.settings import Settings
    from postroom.store import Store
    from postroom.store.vault.folder import Vault

__all__ = ["Account", "Accounts", "Gateway"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class Gateway:
    settings: Settings
    store: Store
    accounts: Accounts
    vault: Vault
    abandoned: set[str] = field(default_factory=set)  # sends that an error tore from our hands; see worker
    _locks: dict[str, tuple[anyio.Lock, int]] = field(default_factory=dict)
    _readers: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(8))

    def now(self) -> datetime:
        """The store's clock, so that the whole gateway has one time."""
        return datetime.fromtimestamp(self.store.clock.wall(), UTC)

    def shown_time(self, moment: datetime | float, timespec: str = "seconds") -> str:
        """ISO 8601 in the operator's zone, with its offset; the wall clock's seconds or an aware moment."""
        if isinstance(moment, (int, float)):
            moment = datetime.fromtimestamp(moment, UTC)
        try:
            return moment.astimezone(self.settings.server.zone).isoformat(timespec=timespec)
        except (OverflowError, ValueError, OSError):  # a date at either end of the calendar has no other offset
            return moment.isoformat(timespec=timespec)

    @asynccontextmanager
    async def one_at_a_time(self, key: str) -> AsyncIterator[None]:
        """Callers with the same key wait for each other, in order."""
        lock, waiting = self._locks.get(key, (None, 0))
        lock = lock or anyio.Lock()
        self._locks[key] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._locks[key]
            self._locks[key] = (lock, waiting - 1)
            if waiting == 1:
                del self._locks[key]

    async def read(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run what reads strangers' mail in threads of its own: however long it takes, the store's stay free."""
        return await anyio.to_thread.run_sync(partial(call, *args, **kwargs), limiter=self._readers)

    async def in_thread(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a store call in a worker thread: a locked state file must not stop the event loop."""
        return await anyio.to_thread.run_sync(partial(call, *args, **kwargs))
