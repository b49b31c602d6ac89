"""The only composition root: settings in, a Gateway out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from postroom.files import database_file
from postroom.model.errors import InvalidRequest, PermissionDenied
from postroom.providers import registry
from postroom.providers.context import ProviderContext
from postroom.service.gateway import Accounts, Gateway
from postroom.service.ids import scheme_for
from postroom.settings import AccountSettings, LocalAccount, Settings, SettingsError
from postroom.settings.dialects import IdForm
from postroom.store import RateLimit, open_store
from postroom.store.clock import Clock
from postroom.store.vault.folder import LOGS, Vault

if TYPE_CHECKING:
    import httpx2

    from postroom.providers.protocol import Mailbox, Transport

FIRST_BREATH = 1.0  # seconds
SMALLER_THAN_SAMPLE = 256 * 1024  # bytes; an empty mailbox has half of it


class _Opener:
    def __init__(self, settings: Settings) -> None:
        self._sends = settings.traits.has_transport
        self._context = ProviderContext(
            home=settings.home,
            neighbours=tuple(settings.accounts),
            read_only=settings.server.read_only,
            is_demo=settings.is_demo,
            proxies=settings.network.proxies,
        )

    def mailbox(self, account: AccountSettings) -> Mailbox:
        return registry.open_mailbox(account, self._context)

    def shared(self, derived: AccountSettings, mailbox: Mailbox) -> Mailbox:
        return registry.open_shared(derived, self._context, mailbox)

    def transport(self, account: AccountSettings, mailbox: Mailbox) -> Transport:
        if not self._sends:
            raise PermissionDenied("This server only writes drafts: this dialect never sends.")
        return registry.open_transport(account, self._context, mailbox)


@asynccontextmanager
async def open_gateway(
    settings: Settings, *, clock: Clock | None = None, ids: IdForm | None = None
) -> AsyncIterator[Gateway]:
    """Everything a door needs, closed in order at the end. Accounts connect on first use.

    Message ids have the dialect's form, unless `ids` gives another.
    """
    if settings.store.url:
        raise InvalidRequest("store.url: a shared PostgreSQL store is not available yet; leave it empty for SQLite.")
    _refuse_absent_providers(settings.accounts)
    if settings.is_demo:
        await _fill_demo(settings)
    for account in settings.accounts:
        if isinstance(account, LocalAccount):
            database_file.in_use(account.path)  # from the start: a mailbox that nobody opened yet is none to attach
    vault = Vault(settings.safety.vault)
    store = open_store(
        settings.home / "state.db",
        clock=clock,
        limit=RateLimit(settings.safety.sends_per_hour),
        key_seconds=settings.traits.key_seconds,
        audit_mirror=vault.root / LOGS / "actions",
    )
    accounts = Accounts(settings.accounts, _Opener(settings))
    try:
        yield Gateway(settings, store, accounts, vault, scheme_for(ids or settings.traits.ids))
    finally:
        with anyio.CancelScope(shield=True):
            await accounts.close()
        store.close()


def _refuse_absent_providers(accounts: Sequence[AccountSettings]) -> None:
    """At the start, where an operator reads it, not in the answer to a model's first call."""
    for place, account in enumerate(accounts):
        if account.provider not in registry.MAILBOXES:
            known = ", ".join(sorted(registry.MAILBOXES))
            raise SettingsError(
                f"accounts[{place}].provider: this version has no provider {account.provider}; choose one of {known}"
            )


async def _fill_demo(settings: Settings) -> None:
    """The sample messages, on the first start, or the next if that was cut short: written even where Postroom itself
    may only read. Others may start in the same moment; who comes second finds it done."""
    context = ProviderContext(home=settings.home, neighbours=tuple(settings.accounts), read_only=False)
    for account in settings.accounts:
        if isinstance(account, LocalAccount) and _may_lack_sample(account.path):
            mailbox = registry.open_mailbox(account, context)
            await mailbox.connect()
            await registry.fill_with_sample(account, mailbox)
            await mailbox.close()


def _may_lack_sample(path: Path) -> bool:
    """A look at the file, not into it: opening every mailbox would delay every start."""
    return not path.exists() or path.stat().st_size < SMALLER_THAN_SAMPLE


@asynccontextmanager
async def open_working_gateway(settings: Settings) -> AsyncIterator[Gateway]:
    """A gateway that also works by itself: approvals given elsewhere, holds, schedules, retries. For servers."""
    async with open_gateway(settings) as gateway:
        if settings.server.read_only or not settings.traits.has_transport:
            yield gateway
            return
        await gateway.in_thread(gateway.store.pauses.try_soon)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_work, gateway)
            yield gateway
            tasks.cancel_scope.cancel()


def new_http_client(settings: Settings) -> httpx2.AsyncClient:
    """For what is not an account's."""
    from postroom.providers.http.client import new_client

    return new_client(proxies=settings.network.proxies)


async def _work(gateway: Gateway) -> None:
    """Loaded a moment later: a client that starts a server waits for its list of tools first."""
    await anyio.sleep(FIRST_BREATH)
    from postroom.service.sending import worker

    await worker.run(gateway)
