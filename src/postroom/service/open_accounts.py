"""Accounts: opened on first use, kept open, each with what its provider can do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio

from postroom.model.address import Address, parse_address
from postroom.model.capabilities import Capabilities
from postroom.model.errors import InvalidRequest, PostroomError, Unsupported
from postroom.model.native import NativeAction
from postroom.providers.layers.layered import at_server
from postroom.service.own_identities import completed
from postroom.service.recent import Recent

if TYPE_CHECKING:
    from postroom.model.draft import Identity
    from postroom.model.folder import Folder
    from postroom.providers.at_hand import Conversations, FoundAndFetched
    from postroom.providers.protocol import (
        AliasMaker,
        Drafts,
        FolderMaker,
        FolderRenamer,
        IdLookup,
        Labels,
        Mailbox,
        ManyFolders,
        Numbered,
        RawAccess,
        Rules,
        Threads,
        Transport,
        Vacations,
        Watcher,
    )
    from postroom.settings import AccountSettings

OF_ANOTHER = "/"  # between an account and another mailbox it opens: work/sales@example.com
_HOW_TO_SEND = {"imap": "Save a draft instead. The operator can set smtp_host of the account."}


class Opener(Protocol):
    """How an account becomes a mailbox and a transport; `wiring` supplies it, the service never names a provider."""

    def mailbox(self, account: AccountSettings) -> Mailbox: ...

    def at_server(self, account: AccountSettings) -> Mailbox:
        """Without its mirror."""
        ...

    def shared(self, derived: AccountSettings, mailbox: Mailbox) -> Mailbox: ...

    def transport(self, account: AccountSettings, mailbox: Mailbox) -> Transport: ...

    def outages(self) -> Mapping[str, datetime]:
        """Accounts whose server cannot be reached, so that their mirrors answer; since when."""
        ...


@dataclass
class Account:
    """One open mailbox. The transport is separate, opened only by the gate."""

    settings: AccountSettings
    mailbox: Mailbox
    capabilities: Capabilities
    _open_transport: Callable[[], Transport]
    _transport: Transport | None = None

    def __post_init__(self) -> None:
        """Both cached for a few seconds; what a send depends on is asked of the mailbox itself."""
        self.folders = Recent(self._list_folders)
        self.identities = Recent(self.identities_now)

    async def _list_folders(self) -> list[Folder]:
        return await self.mailbox.folders()

    async def identities_now(self) -> list[Identity]:
        return completed(await self.mailbox.identities(), self.settings)

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def is_shared(self) -> bool:
        """Another's mailbox, over the login of a configured account."""
        return OF_ANOTHER in self.name

    @property
    def at_server(self) -> Mailbox:
        """The mailbox as its server has it now, never as a mirror has it."""
        return cast("Mailbox", at_server(self.mailbox))

    @cached_property
    def at_hand(self) -> FoundAndFetched | None:
        """The mailbox, where it is one. Asked once: for Python 3.11 that is as long a question as a query of SQLite."""
        from postroom.providers.at_hand import FoundAndFetched

        return self.mailbox if isinstance(self.mailbox, FoundAndFetched) else None

    @cached_property
    def conversations(self) -> Conversations | None:
        from postroom.providers.at_hand import Conversations

        return self.mailbox if isinstance(self.mailbox, Conversations) else None

    @cached_property
    def id_lookup(self) -> IdLookup | None:
        from postroom.providers.protocol import IdLookup

        return self.mailbox if isinstance(self.mailbox, IdLookup) else None

    def check_can_send(self) -> None:
        if not self.capabilities.can_send:
            provider = self.capabilities.provider
            raise Unsupported(provider, "sending", _HOW_TO_SEND.get(provider, ""))

    @property
    def transport(self) -> Transport:
        self.check_can_send()
        if self._transport is None:
            self._transport = self._open_transport()
        return self._transport

    def transport_for(self, action: NativeAction | None) -> Transport:
        """The account's own; for a request that is no message, one that makes such requests."""
        own = self.transport  # also where it is not used: an account that may not send makes no requests either
        if action is None or action.kind != "unsubscribe":
            return own
        from postroom.providers.oneclick import OneClick

        return OneClick()

    @property
    def raw_access(self) -> RawAccess:
        return cast("RawAccess", self._only_if(self.capabilities.has_raw, "raw messages"))

    @property
    def threads(self) -> Threads:
        return cast("Threads", self._only_if(self.capabilities.has_threading, "threads"))

    @property
    def drafts(self) -> Drafts:
        return cast("Drafts", self._only_if(self.capabilities.can_draft, "drafts"))

    @property
    def labels(self) -> Labels:
        return cast("Labels", self._only_if(self.capabilities.can_label, "labels"))

    @property
    def many_folders(self) -> ManyFolders:
        return cast("ManyFolders", self._only_if(self.capabilities.has_many_folders, "messages in several folders"))

    @property
    def folder_maker(self) -> FolderMaker:
        return cast("FolderMaker", self._only_if(self.capabilities.can_create_folder, "folder creation"))

    @property
    def folder_renamer(self) -> FolderRenamer:
        return cast("FolderRenamer", self._only_if(self.capabilities.can_rename_folder, "renaming folders"))

    @property
    def numbered(self) -> Numbered:
        return cast("Numbered", self._only_if(self.capabilities.has_uids, "message UIDs"))

    @property
    def rules(self) -> Rules:
        return cast("Rules", self._only_if(self.capabilities.has_server_side_rules, "server-side rules"))

    @property
    def alias_maker(self) -> AliasMaker:
        return cast("AliasMaker", self._only_if(self.capabilities.can_create_alias, "alias creation"))

    @property
    def vacations(self) -> Vacations:
        return cast("Vacations", self._only_if(self.capabilities.has_vacation, "vacation replies"))

    @property
    def watcher(self) -> Watcher:
        return cast("Watcher", self._only_if(self.capabilities.has_push, "change notifications"))

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
        self._failures: dict[str, PostroomError] = {}  # of the latest attempt, while others wait for it
        self._withheld: tuple[AccountSettings, ...] = ()
        self._withdrawn: set[str] = set()  # their names are no longer in the settings
        self.owners: frozenset[str] | None = None  # the only accounts whose state may be shown; None: of any

    def only(self, names: Collection[str]) -> Accounts:
        """These of the accounts, as a client sees them that may use no others. What one opens is open for all."""
        ours = tuple(self._configured.values())
        view = Accounts([account for account in ours if account.name in names], self._opener)
        view._open, view._locks, view._failures = self._open, self._locks, self._failures
        view._withdrawn = self._withdrawn
        view.owners = frozenset(view._configured)
        view._withheld = tuple(account for account in ours if account.name not in names)
        return view

    def may_see(self, account: str) -> bool:
        """Whether state kept for that account, or for a shared mailbox it opens, may be shown."""
        return self.owners is None or account.partition(OF_ANOTHER)[0] in self.owners

    def withdraw(self, names: Collection[str]) -> None:
        """From here on, these are unknown, here and in every view; all others are known. What they were opened for
        goes on to its end."""
        self._withdrawn.clear()
        self._withdrawn.update(names)

    def _is_withdrawn(self, name: str) -> bool:
        return name.partition(OF_ANOTHER)[0] in self._withdrawn

    @property
    def _known(self) -> Mapping[str, AccountSettings]:
        if not self._withdrawn:
            return self._configured
        return {name: account for name, account in self._configured.items() if name not in self._withdrawn}

    @property
    def configured(self) -> tuple[AccountSettings, ...]:
        return tuple(self._known.values())

    def outages(self) -> dict[str, datetime]:
        """Of the accounts that may be seen here: see `Opener.outages`."""
        return {
            name: since
            for name, since in self._opener.outages().items()
            if self.may_see(name) and not self._is_withdrawn(name)
        }

    def names(self, wanted: str | None) -> list[str]:
        """The accounts of a request: the default, one by name, or ``all``."""
        if wanted == "all" and "all" not in self._known:
            return list(self._known)
        return [self.named(wanted).name]

    def named(self, wanted: str | None) -> AccountSettings:
        if not self._known:
            raise InvalidRequest("No account is configured. Add one to postroom.toml.", reason="account_not_configured")
        if wanted is None:
            return self._default()
        for account in self._known.values():
            if wanted == account.name or (account.address and Address(wanted).key == Address(account.address).key):
                return account
        owner, _, user_id = wanted.partition(OF_ANOTHER)
        if user_id and owner in self._known:
            return self._derived(owner, user_id)
        raise self._unknown(wanted)

    def _default(self) -> AccountSettings:
        """Never another one while this runs: whoever leaves the account out means that one."""
        name = next(iter(self._configured))
        if name in self._known:
            return self._known[name]
        raise InvalidRequest(
            f"The default account {name} was removed from the settings. Name one of: {', '.join(self._known)}.",
            reason="unknown_account",
            details={"field": "account", "account": name},
        )

    def _unknown(self, wanted: str) -> InvalidRequest:
        what = "This takes one account, not all" if wanted == "all" else f"There is no account {wanted[:80]!r}"
        return InvalidRequest(
            f"{what}. Use one of: {', '.join(self._known)}.",
            reason="unknown_account",
            details={"field": "account", "account": wanted[:80]},
        )

    def require(self, owner: str, wanted: str | None, shown_id: str) -> None:
        """An item of one account is never looked up in another."""
        if wanted is not None and self.named(wanted).name != owner:
            raise InvalidRequest(
                f"{shown_id} belongs to account {owner}, not to {wanted}. Leave `account` out or name {owner}.",
                reason="wrong_account",
                details={"field": "account", "id": shown_id},
            )

    def _derived(self, owner: str, user_id: str) -> AccountSettings:
        """No configured account has such a name: handles, keys, rate and audit, all kept by account, are its own. So a
        mailbox that is configured is that account, over whichever login it was asked for; if it is not to be seen here,
        it has a name like any other, and is not opened."""
        address = parse_address(user_id).email
        configured = _with_address(self.configured, address)
        if configured is not None:
            return configured
        name = f"{self.named(owner).name}{OF_ANOTHER}{Address(address).key}"
        own = {"name": name, "address": address, "display_name": "", "signature": "", "signature_html": ""}
        return self.named(owner).model_copy(update={**own, "identities": ()})

    def of_user(self, user_id: str) -> str:
        """The account for a user's mailbox: the configured one with this address, or else a shared mailbox over the
        login of the default account."""
        return self._derived(self.named(None).name, user_id).name

    async def derived(self, wanted: str | None, user_id: str) -> Account:
        """A shared mailbox, over the login of a configured account. Unsupported where the provider has none."""
        return await self.open(self._derived(self.named(wanted).name, user_id).name)

    async def open(self, wanted: str | None = None) -> Account:
        settings = self.named(wanted)
        if settings.name not in self._open:
            lock, known = self._locks.setdefault(settings.name, anyio.Lock()), self._failures.get(settings.name)
            async with lock:
                try:
                    await self._connect(settings, known)
                finally:
                    if not lock.statistics().tasks_waiting:
                        self._failures.pop(settings.name, None)
        return self._open[settings.name]

    def already_open(self, name: str) -> Account | None:
        return self._open.get(name)

    def at_server(self, name: str) -> Mailbox:
        """A mailbox of the caller's own that no mirror answers for: not connected, and the caller closes it."""
        return self._opener.at_server(self.named(name))

    async def _connect(self, settings: AccountSettings, known: PostroomError | None) -> None:
        """Unless a previous holder of the lock has done it, or has failed to since this one began to wait: a server
        that hangs would keep each in turn."""
        if settings.name in self._open:
            return
        failure = self._failures.get(settings.name)
        if failure is not None and failure is not known:
            raise failure
        try:
            mailbox = await self._mailbox(settings)
            capabilities = await mailbox.connect()
        except PostroomError as error:
            self._failures[settings.name] = error
            raise
        self._open[settings.name] = Account(
            settings, mailbox, capabilities, partial(self._opener.transport, settings, mailbox)
        )

    async def _mailbox(self, settings: AccountSettings) -> Mailbox:
        if settings.name in self._known:
            return self._opener.mailbox(settings)
        owner = await self.open(settings.name.split(OF_ANOTHER, 1)[0])
        if not owner.capabilities.has_shared_mailboxes:
            raise Unsupported(owner.capabilities.provider, "shared mailboxes")  # whether it is configured or not
        if _with_address(self._withheld, settings.address) is not None:
            raise self._unknown(settings.name)
        return self._opener.shared(settings, owner.mailbox)

    async def close(self) -> None:
        """The latest first: a shared mailbox uses the login of its owner."""
        while self._open:
            _, account = self._open.popitem()
            await account.close()


def _with_address(accounts: Iterable[AccountSettings], email: str) -> AccountSettings | None:
    key = Address(email).key
    return next((one for one in accounts if one.address and Address(one.address).key == key), None)
