"""The only composition root: settings in, a Gateway out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
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
from postroom.settings.mailboxes import owner_of
from postroom.store import RateLimit, open_store
from postroom.store.clock import Clock
from postroom.store.vault.folder import LOGS, Vault

if TYPE_CHECKING:
    from datetime import datetime

    import httpx2

    from postroom.providers.protocol import Mailbox, Transport
    from postroom.settings.accounts import ServerAccount
    from postroom.store.handles import Handles
    from postroom.sync.answering.mirrored import MirrorLayer

FIRST_BREATH = 1.0  # seconds
BETWEEN_MODULES = 0.01  # seconds
# What the first calls that open a message need, and then the worker: in an order in which each takes a few milliseconds
# to load, so that a call which comes meanwhile waits for one of them at most.
READING_MODULES = (
    "postroom.mime.read.headers",
    "postroom.mime.read.structure",
    "postroom.mime.read.parse",
    "postroom.mime.quotes.earlier",
    "postroom.mime.guarded",
    "postroom.service.reading.rendering",
    "postroom.service.reading.several",
    "postroom.mime.css.properties",
    "postroom.mime.css.visibility",
    "postroom.mime.html.hidden_words",
    "postroom.mime.render",
    "postroom.mime.sender_facts",
    "turbohtml",
)
WORKER_MODULES = (
    "postroom.mime.write.parts",
    "postroom.service.organising.batch",
    "postroom.service.writing.composing",
    "postroom.service.writing.draft",
    "postroom.safety.judge",
    "postroom.safety.staged",
    "postroom.service.sending.order",
    "postroom.service.sending.letter",
    "postroom.service.sending.approval.handwritten",
    "postroom.service.sending.approval.approvals",
)
SMALLER_THAN_SAMPLE = 256 * 1024  # bytes; an empty mailbox has half of it


class _Opener:
    def __init__(self, settings: Settings, handles: Handles) -> None:
        self._home = settings.home
        self._handles = handles
        self._mirrors: dict[str, MirrorLayer] = {}  # by account
        self._sends = settings.traits.has_transport
        self._context = ProviderContext(
            home=settings.home,
            neighbours=tuple(settings.accounts),
            read_only=settings.server.read_only,
            is_demo=settings.is_demo,
            proxies=settings.network.proxies,
        )

    def mailbox(self, account: AccountSettings) -> Mailbox:
        """What a mirror cannot answer goes to the provider, through all its layers."""
        mailbox = self.at_server(account)
        if isinstance(account, LocalAccount) or account.mirror == "off":
            return mailbox
        return self._mirrored(mailbox, account, account.provider)

    def _mirrored(self, mailbox: Mailbox, account: ServerAccount, provider: str) -> Mailbox:
        from postroom.sync.answering.mirrored import MirrorLayer, mirrored
        from postroom.sync.file.mirror import Mirror, mirror_path

        mirror = Mirror(mirror_path(self._home, account.name))

        async def catch_up() -> None:
            from postroom.sync.following.syncing import Syncing, Tools

            async with Syncing(mirror, mailbox, account, Tools(self._handles)) as syncing:
                await syncing.catch_up()

        self._mirrors[account.name] = layer = MirrorLayer(mailbox, mirror, account, catch_up)
        return mirrored(mailbox, layer, provider)

    def outages(self) -> dict[str, datetime]:
        found = {name: layer.outage.since for name, layer in self._mirrors.items()}
        return {name: since for name, since in found.items() if since is not None}

    def at_server(self, account: AccountSettings) -> Mailbox:
        return registry.open_mailbox(account, self._context)

    def shared(self, derived: AccountSettings, mailbox: Mailbox) -> Mailbox:
        return registry.open_shared(derived, self._context, mailbox)

    def transport(self, account: AccountSettings, mailbox: Mailbox) -> Transport:
        if not self._sends:
            raise PermissionDenied("This server only writes drafts: this dialect never sends.")
        transport = registry.open_transport(account, self._context, mailbox)
        if account.name not in self._mirrors:
            return transport
        from postroom.sync.answering.mirrored import noticing_sends

        return noticing_sends(transport, self._mirrors[account.name].mirror, account.provider)


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
    accounts = Accounts(settings.accounts, _Opener(settings, store.handles))
    try:
        store.mailboxes.settle(
            {account.name: account.address for account in settings.accounts},
            {account.name: owner_of(account) for account in settings.accounts},
        )
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
    try:
        return path.stat().st_size < SMALLER_THAN_SAMPLE
    except OSError:  # not there yet; or else opening it says what is wrong
        return True


@asynccontextmanager
async def open_working_gateway(settings: Settings) -> AsyncIterator[Gateway]:
    """A gateway that also works by itself: approvals given elsewhere, holds, schedules, retries, rules, mirrors. For
    servers."""
    async with open_gateway(settings) as gateway:
        works = settings.traits.has_transport and not settings.server.read_only
        mirrors = any(getattr(account, "mirror", "off") != "off" for account in settings.accounts)
        if works:
            await gateway.in_thread(gateway.store.pauses.try_soon)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_prepare)
            tasks.start_soon(_withdraw, gateway)
            if works:
                tasks.start_soon(_work, gateway)
                tasks.start_soon(_run_rules, gateway)
            if mirrors:
                tasks.start_soon(_mirror, settings)
            yield gateway
            tasks.cancel_scope.cancel()


def new_http_client(settings: Settings) -> httpx2.AsyncClient:
    """For what is not an account's."""
    from postroom.providers.http.client import new_client

    return new_client(proxies=settings.network.proxies)


async def _prepare() -> None:
    """What reading needs, so that nobody's first call of a kind loads it. A client that starts a server waits for its
    list of tools before."""
    await anyio.sleep(FIRST_BREATH / 2)
    await _load(READING_MODULES)


async def _load(modules: Sequence[str]) -> None:
    """In steps: all at once would keep the next call waiting for 50 to 90 ms. What cannot be loaded fails where it is
    needed, and there alone."""
    for name in modules:
        with suppress(Exception):
            import_module(name)
        await anyio.sleep(BETWEEN_MODULES)


async def _withdraw(gateway: Gateway) -> None:
    await anyio.sleep(FIRST_BREATH)
    from postroom.service.accounts import withdrawals

    await withdrawals.apply(gateway)


async def _work(gateway: Gateway) -> None:
    """Loaded a moment later: see `_prepare`."""
    await anyio.sleep(FIRST_BREATH)
    await _load(WORKER_MODULES)
    from postroom.service.sending import worker

    await worker.run(gateway)


async def _run_rules(gateway: Gateway) -> None:
    await anyio.sleep(FIRST_BREATH)
    from postroom.service.rules import scheduling

    await scheduling.run(gateway)


async def _mirror(settings: Settings) -> None:
    """As late as the other work. Read-only mode concerns the mailbox, not its mirror."""
    await anyio.sleep(FIRST_BREATH)
    from postroom.service.accounts import mirror_process

    await mirror_process.run(settings)
