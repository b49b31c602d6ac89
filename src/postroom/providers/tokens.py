"""What every source of tokens can do; `credentials` has them, `http` and `imap` use them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from anyio import CapacityLimiter
    from anyio.lowlevel import RunVar

_THREADS = 32  # more than accounts wait for each other's logins
Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


class TokenSource(Protocol):
    """One per account, shared by its mailbox and its transport. May be called by several tasks at once.

    AuthRequired when no token is available; its message says what the user has to do.
    """

    async def token(self) -> str:
        """The current token, without a request while it is believed to be valid."""
        ...

    async def refreshed(self, old: str) -> str:
        """A token to replace `old`, which was refused. Of several tasks with the same refused token, only one asks."""
        ...


async def in_own_thread(call: Callable[[*Arguments], T], *args: *Arguments) -> T:
    """For blocking calls (a keyring, a disk). A caller that waits for a token may hold one of the shared threads, so
    none of those is used: with all of them waiting, that would be a deadlock. A thousand requests that ask for a token
    at once still need no thousand threads."""
    import anyio.to_thread

    return await anyio.to_thread.run_sync(call, *args, limiter=_own_threads())


def _own_threads() -> CapacityLimiter:
    import anyio

    held = _of_this_loop()
    try:
        return held.get()
    except LookupError:
        held.set(limiter := anyio.CapacityLimiter(_THREADS))
        return limiter


@cache
def _of_this_loop() -> RunVar[CapacityLimiter]:
    from anyio.lowlevel import RunVar

    return RunVar("postroom.token_threads")
