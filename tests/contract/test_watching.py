from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
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
