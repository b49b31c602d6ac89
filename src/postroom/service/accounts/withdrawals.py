"""Accounts that are taken out of the settings leave a running process within seconds. What else is changed there counts
after a restart."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from postroom.settings.withdrawn import Withdrawn

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.settings import Settings

_EVERY = 2.0  # seconds


async def withdrawals(settings: Settings) -> AsyncGenerator[frozenset[str], None]:
    """The names of those that are gone: at first none, and then whenever they are others."""
    withdrawn, gone = Withdrawn(settings), frozenset[str]()
    yield gone
    while True:
        await anyio.sleep(_EVERY)
        before, gone = gone, await anyio.to_thread.run_sync(withdrawn.look)
        if gone != before:
            yield gone


async def apply(gateway: Gateway) -> None:
    """Until cancelled."""
    async with aclosing(withdrawals(gateway.settings)) as changes:
        async for gone in changes:
            gateway.accounts.withdraw(gone)
