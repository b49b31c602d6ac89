"""The Gateway: what every service function is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

import anyio
import anyio.to_thread

from postroom.service.open_accounts import Account, Accounts
from postroom.service.times import shown_moment

if TYPE_CHECKING:
    from postroom.model.draft import SavedDraft
    from postroom.model.errors import PostroomError
    from postroom.model.ids import Kind
    from postroom.settings import Settings
    from postroom.store import Store
    from postroom.store.handles import Handle
    from postroom.store.vault.folder import Vault

__all__ = ["Account", "Accounts", "Gateway", "IdScheme"]

P = ParamSpec("P")
R = TypeVar("R")


class IdScheme(Protocol):
    """How refs are shown in results, and what an id stands for; see `service.ids`."""

    def tidy(self, shown: str) -> str:
        """The id as it is compared; InvalidRequest for what cannot be one."""
        ...

    def names_mail(self, thread_id: str) -> bool:
        """Whether what was given for a thread plainly is the id of a message, which then stands for its thread."""
        ...

    async def show(
        self,
        gateway: Gateway,
        account: str,
        wanted: Mapping[Kind, Sequence[str]],
        folders: Sequence[str] = (),
        conversations: Mapping[str, str] | None = None,
    ) -> list[list[str]]:
        """The ids of each kind's refs, in order. `folders` says where each message was found, by name;
        `conversations` as in `Page`."""
        ...

    async def show_draft(self, gateway: Gateway, account: str, saved: SavedDraft) -> tuple[str, str, str]:
        """The ids of a draft, of the message inside it and of its thread."""
        ...

    def show_moved(self, new_ref: str) -> str:
        """The new id of a message that was moved; empty where the old one stays valid, or nobody knows."""
        ...

    async def find(
        self, gateway: Gateway, kind: Kind, shown: Sequence[str], account: str | None
    ) -> list[Handle | PostroomError]:
        """Account and ref behind each id, or what is wrong with it."""
        ...

    async def handles_of(self, gateway: Gateway, account: str, mails: Mapping[str, str]) -> list[str]:
        """The lasting handle of each message (id to ref): what the journal and the outbox keep."""
        ...


@dataclass
class Gateway:
    settings: Settings
    store: Store
    accounts: Accounts
    vault: Vault
    ids: IdScheme
    abandoned: set[str] = field(default_factory=set)  # sends that an error tore from our hands; see worker
    _locks: dict[str, tuple[anyio.Lock, int]] = field(default_factory=dict)
    _readers: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(8))

    def narrowed(self, settings: Settings) -> Gateway:
        """The same gateway with only these accounts, for a client with settings of its own."""
        return replace(
            self, settings=settings, accounts=self.accounts.only([account.name for account in settings.accounts])
        )

    def now(self) -> datetime:
        """The store's clock, so that the whole gateway has one time."""
        return datetime.fromtimestamp(self.store.clock.wall(), UTC)

    def shown_time(self, moment: datetime | float, timespec: str = "seconds") -> str:
        """ISO 8601 in the operator's zone, with its offset; the wall clock's seconds or an aware moment."""
        if isinstance(moment, (int, float)):
            moment = datetime.fromtimestamp(moment, UTC)
        return shown_moment(moment, self.settings.server.zone, timespec)

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
        """Run code that parses untrusted messages in its own threads: however long it takes, the store's stay free."""
        return await anyio.to_thread.run_sync(partial(call, *args, **kwargs), limiter=self._readers)

    async def in_thread(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a store call in a worker thread: a locked state file must not stop the event loop."""
        return await anyio.to_thread.run_sync(partial(call, *args, **kwargs))
