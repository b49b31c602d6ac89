"""The Gateway: what every service function is given. Accounts are opened on first use and stay open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

import anyio
import anyio.to_thread

from postroom.model.address import Address
from postroom.model.capabilities import Capabilities
from postroom.model.errors import InvalidRequest, PostroomError, Unsupported

if TYPE_CHECKING:
    from postroom.model.draft import SavedDraft
    from postroom.model.ids import Kind
    from postroom.providers.protocol import (
        AliasMaker,
        Drafts,
        FolderMaker,
        Labels,
        Mailbox,
        Numbered,
        Transport,
        Watcher,
    )
    from postroom.settings import AccountSettings, Settings
    from postroom.store import Store
    from postroom.store.handles import Handle
    from postroom.store.vault.folder import Vault

P = ParamSpec("P")
R = TypeVar("R")


class Opener(Protocol):
    """How an account becomes a mailbox and a transport; `wiring` supplies it, service never names a provider."""

    def mailbox(self, account: AccountSettings) -> Mailbox: ...

    def transport(self, account: AccountSettings, mailbox: Mailbox) -> Transport: ...


class IdScheme(Protocol):
    """How refs are called in answers, and what an id stands for; see `service.ids`."""

    def tidy(self, shown: str) -> str:
        """The id as it is compared; InvalidRequest for what cannot be one."""
        ...

    def names_mail(self, thread_id: str) -> bool:
        """Whether what was given for a thread plainly is the id of a mail, which then stands for its thread."""
        ...

    async def show(
        self, gateway: Gateway, account: str, wanted: Mapping[Kind, Sequence[str]], folders: Sequence[str] = ()
    ) -> list[list[str]]:
        """The ids of each kind's refs, in order. `folders` says where each mail was found, by name."""
        ...

    async def show_draft(self, gateway: Gateway, account: str, saved: SavedDraft) -> tuple[str, str, str]:
        """The ids of a draft, of the mail inside it and of its thread."""
        ...

    def show_moved(self, new_ref: str) -> str:
        """The new id of a mail that was moved; empty where the old one goes on, or nobody can say."""
        ...

    async def find(
        self, gateway: Gateway, kind: Kind, shown: Sequence[str], account: str | None
    ) -> list[Handle | PostroomError]:
        """Account and ref behind each id, or what is wrong with it."""
        ...

    async def handles_of(self, gateway: Gateway, account: str, mails: Mapping[str, str]) -> list[str]:
        """The lasting handle of each mail (id to ref): what the journal and the outbox keep."""
        ...


@dataclass
class Account:
    """One open mailbox. The transport is a second slot, opened only by the gate."""

    settings: AccountSettings
    mailbox: Mailbox
    capabilities: Capabilities
    _open_transport: Callable[[], Transport]
    _transport: Transport | None = None

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def transport(self) -> Transport:
        if not self.capabilities.can_send:
            raise Unsupported(self.capabilities.provider, "sending")
        if self._transport is None:
            self._transport = self._open_transport()
        return self._transport

    @property
    def drafts(self) -> Drafts:
        return cast("Drafts", self._only_if(self.capabilities.can_draft, "drafts"))

    @property
    def labels(self) -> Labels:
        return cast("Labels", self._only_if(self.capabilities.can_label, "labels"))

    @property
    def folder_maker(self) -> FolderMaker:
        return cast("FolderMaker", self._only_if(self.capabilities.can_create_folder, "creating of folders"))

    @property
    def numbered(self) -> Numbered:
        return cast("Numbered", self._only_if(self.capabilities.has_uids, "mail numbers (UIDs)"))

    @property
    def alias_maker(self) -> AliasMaker:
        return cast("AliasMaker", self._only_if(self.capabilities.can_create_alias, "creating of aliases"))

    @property
    def watcher(self) -> Watcher:
        return cast("Watcher", self._only_if(self.capabilities.has_push, "telling of changes"))

    def _only_if(self, able: bool, feature: str) -> Any:
        if not able:
            raise Unsupported(self.capabilities.provider, feature)
        return self.mailbox

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()
        await self.mailbox.close()


class Accounts:
    """The configured accounts; the first is the default one."""

    def __init__(self, configured: Sequence[AccountSettings], opener: Opener) -> None:
        self._configured = {account.name: account for account in configured}
        self._opener = opener
        self._open: dict[str, Account] = {}
        self._locks = {name: anyio.Lock() for name in self._configured}

    @property
    def configured(self) -> tuple[AccountSettings, ...]:
        return tuple(self._configured.values())

    def names(self, wanted: str | None) -> list[str]:
        """The accounts a request means: the default, one by name, or ``all``."""
        if wanted == "all" and "all" not in self._configured:
            return list(self._configured)
        return [self.named(wanted).name]

    def named(self, wanted: str | None) -> AccountSettings:
        if not self._configured:
            raise InvalidRequest("No account is configured. Add one to postroom.toml.", reason="account_not_configured")
        if wanted is None:
            return next(iter(self._configured.values()))
        for account in self._configured.values():
            if wanted == account.name or (account.address and Address(wanted).key == Address(account.address).key):
                return account
        raise InvalidRequest(
            f"There is no account {wanted[:80]!r}. Use one of: {', '.join(self._configured)}.",
            reason="unknown_account",
            details={"field": "account", "account": wanted[:80]},
        )

    def require(self, owner: str, wanted: str | None, shown_id: str) -> None:
        """What belongs to one account is never looked for in another."""
        if wanted is not None and self.named(wanted).name != owner:
            raise InvalidRequest(
                f"{shown_id} belongs to account {owner}, not to {wanted}. Leave `account` out or name {owner}.",
                reason="wrong_account",
                details={"field": "account", "id": shown_id},
            )

    async def open(self, wanted: str | None = None) -> Account:
        settings = self.named(wanted)
        if settings.name not in self._open:
            async with self._locks[settings.name]:
                await self._connect(settings)
        return self._open[settings.name]

    async def _connect(self, settings: AccountSettings) -> None:
        """Unless whoever held the lock before has done it."""
        if settings.name in self._open:
            return
        mailbox = self._opener.mailbox(settings)
        capabilities = await mailbox.connect()
        self._open[settings.name] = Account(
            settings, mailbox, capabilities, partial(self._opener.transport, settings, mailbox)
        )

    async def close(self) -> None:
        while self._open:
            _, account = self._open.popitem()
            await account.close()


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
