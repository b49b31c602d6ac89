"""Tells which folders changed, whoever changed them: this process, another one, or a delivery."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

import anyio

POLL_SECONDS = 0.5

Revisions = Mapping[str, int]


async def watch(revisions: Callable[[], Awaitable[Revisions]]) -> AsyncGenerator[str, None]:
    """Every folder's name, and then each whenever its revision is another one, or it came or went."""
    seen: Revisions = {}
    while True:
        now = await revisions()
        for name in sorted(dict(seen.items() ^ now.items())):
            yield name
        seen = now
        await anyio.sleep(POLL_SECONDS)
