"""Messages over which a server hangs up, found among others.

Dovecot 2.3 says BYE when it cannot read the file of a message. Whatever is asked for together with it would never be
fetched, and neither would the folders after it. A connection that merely breaks says nothing about a message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.failures import HungUp
from postroom.providers.imap.session.pool import Pool

T = TypeVar("T")
R = TypeVar("R")

_MOST = 5  # such messages among those that are asked for at once: with more of them it is the folder


@dataclass(frozen=True, slots=True)
class Asking(Generic[T, R]):
    """`fetch` asks for some of a folder's messages, `instead` for what can be had of one that the server hangs up over.
    `is_read` tells whether it hands out any other message: if it does not, nothing is known of this one."""

    pool: Pool
    folder: str
    fetch: Callable[[Session, Sequence[T]], list[R]]
    instead: Callable[[Session, T], list[R]]
    is_read: Callable[[Session, Sequence[T]], bool]

    async def all(self, asked: Sequence[T]) -> list[R]:
        """In order. Where the folder as a whole cannot be read, the error is about that folder."""
        try:
            return await self.pool.run(self.folder, self.fetch, asked)
        except HungUp as loss:
            causes: list[T] = []
            found = await self._halved(asked, causes)
            if not causes:
                return [one for _, some in found for one in some]
            if len(causes) > _MOST or not await self._hands_out_others(asked, found):
                loss.refused_folder = self.folder
                raise
            return [one for cause, some in found for one in (some if cause is None else await self._instead(cause))]

    async def _halved(self, asked: Sequence[T], causes: list[T]) -> list[tuple[T | None, list[R]]]:
        """What was found, and in its place each message that is the cause of a lost connection."""
        if len(causes) > _MOST:
            return []
        if len(asked) == 1:
            causes.append(asked[0])
            return [(asked[0], [])]
        middle = len(asked) // 2
        return [one for half in (asked[:middle], asked[middle:]) for one in await self._tried(half, causes)]

    async def _tried(self, asked: Sequence[T], causes: list[T]) -> list[tuple[T | None, list[R]]]:
        try:
            return [(None, await self.pool.run(self.folder, self.fetch, asked))]
        except HungUp:
            return await self._halved(asked, causes)

    async def _hands_out_others(self, asked: Sequence[T], found: Sequence[tuple[T | None, list[R]]]) -> bool:
        try:
            return any(some for _, some in found) or await self.pool.run(self.folder, self.is_read, asked)
        except HungUp:
            return False

    async def _instead(self, cause: T) -> list[R]:
        return await self.pool.run(self.folder, self.instead, cause)
