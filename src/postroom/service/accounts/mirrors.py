"""The mirrors of the accounts: synchronized, followed, described, removed with their account."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from postroom.model.errors import Conflict, InvalidRequest, PostroomError
from postroom.service.accounts.withdrawals import withdrawals
from postroom.settings.accounts import ServerAccount
from postroom.settings.mailboxes import owner_of
from postroom.sync.file.mirror import Mirror, mirror_files, mirror_path
from postroom.sync.file.status import MirrorStatus

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.settings import AccountSettings, Settings

__all__ = [
    "MirrorStatus",
    "Synced",
    "follow",
    "is_of_another",
    "left_behind",
    "mirrored_accounts",
    "remove_mirror",
    "status_of",
    "sync",
]

_UNTIL_FREE = 10.0  # seconds between looks whether another process still does it
_UNTIL_BEGUN = 30.0  # seconds for another process to start over
_UNTIL_LEFT = 15.0  # seconds for another process to notice that an account was removed

OnProgress = Callable[[str, int, int], None]  # account, messages in its mirror, messages on its server


@dataclass(frozen=True, slots=True)
class Synced:
    """`error` is what stopped it; empty when the mirror is complete and up to date, or another process was asked to
    start it over and does (`remark`)."""

    account: str
    status: MirrorStatus
    error: str = ""
    remark: str = ""


def mirrored_accounts(settings: Settings, wanted: str | None = None) -> Sequence[AccountSettings]:
    """Those with a mirror. InvalidRequest for one that is named and has none."""
    found = [
        account
        for account in settings.accounts
        if isinstance(account, ServerAccount) and account.mirror != "off" and wanted in (None, account.name)
    ]
    if wanted is not None and not found:
        raise InvalidRequest(_why_not(settings, wanted))
    return found


def _why_not(settings: Settings, wanted: str) -> str:
    account = next((account for account in settings.accounts if account.name == wanted), None)
    if account is None:
        names = ", ".join(account.name for account in settings.accounts)
        return f"There is no account {wanted[:80]!r}. Use one of: {names}."
    if not isinstance(account, ServerAccount):
        return f"The account {wanted!r} is on this machine and needs no mirror."
    place = settings.config_path or "the settings"
    return f'The account {wanted!r} has no mirror. Set mirror = "full" for it in {place}.'


async def sync(
    gateway: Gateway,
    accounts: Sequence[AccountSettings],
    *,
    reset: bool = False,
    on_progress: OnProgress | None = None,
) -> list[Synced]:
    """All of them side by side, each until it is complete and up to date."""
    results: dict[str, Synced] = {}

    async def run(account: AccountSettings) -> None:
        mirror = mirror_of(gateway.settings, account.name)
        error = remark = ""
        try:
            if reset:
                mirror.ask_for_reset()
            await _synced(gateway, account, mirror, on_progress, follow=False)
        except Conflict as refusal:
            if reset and await _is_started_over(mirror):
                remark = f"{refusal.message} It starts over now."
            else:
                error = _with_state(refusal, mirror) + (
                    " It was asked to start over, and has not begun to." if reset else ""
                )
        except PostroomError as failure:
            error = failure.message
        results[account.name] = Synced(account.name, mirror.status(), error, remark)
        mirror.close()

    async with anyio.create_task_group() as tasks:
        for account in accounts:
            tasks.start_soon(run, account)
    return [results[account.name] for account in accounts]


def _with_state(refusal: Conflict, mirror: Mirror) -> str:
    """Whoever does it instead may not succeed."""
    failure = mirror.status().last_error
    return f"{refusal.message} Its latest run failed: {failure}" if failure else refusal.message


async def _is_started_over(mirror: Mirror) -> bool:
    """By the process that synchronizes it: that looks from time to time whether somebody asks, and begins when the
    server answers."""
    with anyio.move_on_after(_UNTIL_BEGUN):
        while mirror.is_rebuild_asked:  # noqa: ASYNC110 - it is a file, and another process removes it
            await anyio.sleep(0.1)
    return not mirror.is_rebuild_asked


async def follow(
    gateway: Gateway, accounts: Sequence[AccountSettings], *, on_progress: OnProgress | None = None
) -> None:
    """Until cancelled; an account that is taken out of the settings, until then. One that another process takes care of
    is taken over when that ends."""

    async def run(account: AccountSettings, scope: anyio.CancelScope) -> None:
        mirror = mirror_of(gateway.settings, account.name)
        with scope:
            while True:
                try:
                    await _synced(gateway, account, mirror, on_progress, follow=True)
                except PostroomError:  # noted in the mirror where it is more than somebody else's turn
                    await anyio.sleep(_UNTIL_FREE)
        mirror.close()

    running: dict[str, anyio.CancelScope] = {}
    async with aclosing(withdrawals(gateway.settings)) as changes, anyio.create_task_group() as tasks:
        async for gone in changes:
            for account in accounts:
                if account.name in gone and account.name in running:
                    running.pop(account.name).cancel()
                elif account.name not in gone and account.name not in running:
                    running[account.name] = anyio.CancelScope()
                    tasks.start_soon(run, account, running[account.name])


async def _synced(
    gateway: Gateway, account: AccountSettings, mirror: Mirror, on_progress: OnProgress | None, *, follow: bool
) -> None:
    from postroom.sync.following.syncing import Syncing, Tools

    assert isinstance(account, ServerAccount)
    report = partial(on_progress, account.name) if on_progress is not None else None  # counting takes time
    mailbox = gateway.accounts.at_server(account.name)
    try:
        async with Syncing(mirror, mailbox, account, Tools(gateway.store.handles, report)) as syncing:
            await (syncing.follow() if follow else syncing.once())
    finally:
        with anyio.CancelScope(shield=True):
            await mailbox.close()


def mirror_of(settings: Settings, account: str) -> Mirror:
    return Mirror(mirror_path(settings.home, account))


def status_of(settings: Settings, account: str) -> MirrorStatus:
    mirror = mirror_of(settings, account)
    try:
        return mirror.status()
    finally:
        mirror.close()


def left_behind(settings: Settings) -> dict[str, list[Path]]:
    """Files of mirrors that no account has any more, by the name of the account: it was renamed or removed in the
    settings, or has no mirror now."""
    kept = {account.name for account in mirrored_accounts(settings)}
    return {name: files for name, files in mirror_files(settings.home).items() if name not in kept}


def is_of_another(status: MirrorStatus, account: AccountSettings) -> bool:
    """Whether the file is the mirror of a mailbox that the account's name stood for before, or stands for in another
    settings file."""
    return status.owner not in ("", owner_of(account))


def remove_mirror(home: Path, account: AccountSettings) -> bool:
    """Of an account that is not in the settings any more: a process that follows it is given the time to notice.
    Whether one still does: it makes a new mirror, until it is restarted."""
    mirror = Mirror(mirror_path(home, account.name))
    if account.name not in mirror_files(home) or is_of_another(mirror.status(), account):
        return False
    lock, end = mirror.lock(), time.monotonic() + _UNTIL_LEFT
    while lock is None and time.monotonic() < end:
        time.sleep(0.1)
        lock = mirror.lock()
    mirror.remove()
    if lock is not None:
        lock.close()
    return lock is None
