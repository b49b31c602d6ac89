"""What every source of tokens can do; `credentials` has them, `http` and `imap` use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


class TokenSource(Protocol):
    """One per account, shared by its mailbox and its transport. May be called by several tasks at once.

    AuthRequired when there is no token to be had; its message names what a person has to do.
    """

    async def token(self) -> str:
        """The present token. Asks nobody as long as it is believed to be valid."""
        ...

    async def refreshed(self, old: str) -> str:
        """A token in place of `old`, which was refused. Of many tasks that were refused the same one, one asks."""
        ...


async def in_own_thread(call: Callable[[*Arguments], T], *args: *Arguments) -> T:
    """For what blocks (a keyring, a disk). Who waits for a token may hold one of the shared threads, so none of those
    is taken: with all of them waiting, nobody would go on."""
    import anyio
    import anyio.to_thread

    return await anyio.to_thread.run_sync(call, *args, limiter=anyio.CapacityLimiter(1))
