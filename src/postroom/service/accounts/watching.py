"""What changes in an account, as it happens, for as long as somebody listens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from anyio import sleep

from postroom.model.errors import AuthRequired, Unsupported
from postroom.service.accounts.folders import find_folder
from postroom.service.gateway import Gateway

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_HELD = 20.0  # what still has news after so long is in order: its next failure is a first one


async def changes(gateway: Gateway, account: str, *, mailbox: str = "INBOX") -> AsyncGenerator[str, None]:
    """The folder's name as soon as it is watched, and then whenever something in it changed or may have.

    Unsupported where the provider does not report changes. Any other failure is waited out, longer each time: whoever
    looks after each item misses nothing, however often the connection was lost in between.
    """
    pause = _FIRST_PAUSE
    while True:
        began = anyio.current_time()
        try:
            async with aclosing(_changes(gateway, account, mailbox)) as news:
                async for folder in news:
                    yield folder
                    if anyio.current_time() - began >= _HELD:
                        pause = _FIRST_PAUSE
        except Unsupported:
            raise
        except AuthRequired:  # trying often would only lock the account
            pause = _LONGEST_PAUSE
        except Exception:  # noqa: BLE001 - after any error, the next try may succeed
            pause = min(2 * pause, _LONGEST_PAUSE)
        await sleep(pause)


async def _changes(gateway: Gateway, account: str, mailbox: str) -> AsyncGenerator[str, None]:
    opened = await gateway.accounts.open(account)
    watcher, wanted = opened.watcher, (await find_folder(opened, mailbox)).name
    async with aclosing(watcher.changes()) as news:
        async for folder in news:
            if folder == wanted:
                yield folder
