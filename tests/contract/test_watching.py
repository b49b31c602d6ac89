from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from .mails import mail
from .rigs import Rig, RigAccount, SeedMail

pytestmark = pytest.mark.needs("has_push")


async def heard(news: AsyncIterator[str], folder: str) -> None:
    with anyio.fail_after(30):
        while await anext(news) != folder:
            pass


async def test_a_folder_is_announced_when_it_is_watched_and_whenever_a_mail_comes(
    rig: Rig, account: RigAccount
) -> None:
    mailbox: Any = account.mailbox
    inbox = next(folder.name for folder in await mailbox.folders() if folder.role == "inbox")

    async with aclosing(mailbox.changes()) as news:
        await heard(news, inbox)
        for key in ("first", "second"):
            await rig.seed([SeedMail(mail(key))])
            await heard(news, inbox)


async def test_whoever_watches_takes_no_thread_from_the_others(account: RigAccount) -> None:
    """There are forty for everything that waits, such as the state file."""
    mailbox: Any = account.mailbox
    shared, is_watched = anyio.to_thread.current_default_thread_limiter(), anyio.Event()

    async def watch() -> None:
        async with aclosing(mailbox.changes()) as news:
            async for _ in news:
                is_watched.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        with anyio.fail_after(30):
            await is_watched.wait()
            await anyio.wait_all_tasks_blocked()
            while shared.borrowed_tokens:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
