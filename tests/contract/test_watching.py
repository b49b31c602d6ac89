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
    heard = anyio.Event()

    async def listen() -> None:
        async for folder in mailbox.changes():
            if folder == inbox:
                heard.set()

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        for number in range(20):  # the listener may not be listening yet when the first ones come
            await rig.seed([SeedMail(mail(f"news{number}"))])
            with anyio.move_on_after(1):
                await heard.wait()
            if heard.is_set():
                break
        group.cancel_scope.cancel()
    assert heard.is_set()
