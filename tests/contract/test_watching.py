from __future__ import annotations

from typing import Any

import anyio
import pytest

from .mails import mail
from .rigs import Rig, RigAccount, SeedMail

pytestmark = pytest.mark.needs("has_push")


async def test_a_new_mail_is_announced_with_its_folder(rig: Rig, account: RigAccount) -> None:
    mailbox: Any = account.mailbox
    inbox = next(folder.name for folder in await mailbox.folders() if folder.role == "inbox")
    heard: list[str] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                async for folder in mailbox.changes():
                    heard.append(folder)
                    if folder == inbox:
                        group.cancel_scope.cancel()

            async def knock() -> None:
                for n in range(200):
                    await rig.seed([SeedMail(mail(f"news{n}"))])
                    await anyio.sleep(0.05)

            group.start_soon(listen)
            group.start_soon(knock)
    assert inbox in heard
