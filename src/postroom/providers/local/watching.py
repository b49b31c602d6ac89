"""Reports which folders changed, through this process, another one, or a delivery."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

import anyio

POLL_SECONDS = 0.5

Revisions = Mapping[str, int]


async def watch(revisions: Callable[[], Awaitable[Revisions]]) -> AsyncGenerator[str, None]:
    """Every folder's name, and then each one whenever its revision changes or it is created or deleted."""
    seen: Revisions = {}
    while True:
        now = await revisions()
        for name in sorted(dict(seen.items() ^ now.items())):
            yield name
        seen = now
        await anyio.sleep(POLL_SECONDS)
