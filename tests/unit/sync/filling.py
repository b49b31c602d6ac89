"""A first fill that comes to a stop half way, and one of few messages that goes the way of many."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from postroom.model.changes import BulkMail
from postroom.model.errors import ProviderUnavailable
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.settings import ImapAccount
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import reading
from postroom.sync.following.reading import Flat, Spooled
from postroom.sync.following.syncing import Syncing


class Stopping(ImapMailbox):
    """Its connection is lost after so many turns of a fill."""

    turns = 0

    async def bulk(
        self, folder_ref: str, epoch: str, numbers: Sequence[int], *, max_bytes: int
    ) -> AsyncGenerator[list[BulkMail], None]:
        if self.turns == 0:
            raise ProviderUnavailable("The connection was lost.")
        self.turns -= 1
        async for batch in super().bulk(folder_ref, epoch, numbers, max_bytes=max_bytes):
            yield batch


async def fill_partly(mirror: Mirror, account: ImapAccount, turns: int) -> None:
    mailbox = Stopping(account, ProviderContext(mirror.path.parent))
    mailbox.turns = turns
    try:
        async with Syncing(mirror, mailbox, account) as syncing:
            with suppress(ProviderUnavailable):
                await syncing.once()
    finally:
        await mailbox.close()


class Here:
    """Reads in this process what other processes would be given."""

    def __init__(self, read: Callable[[list[Spooled]], list[Flat]], _instead: Any, _count: int) -> None:
        self._read = read

    def __exit__(self, *_: object) -> None:
        return

    def give(self, mails: list[Spooled]) -> Iterator[list[Flat]]:
        return iter([self._read(mails)])

    def results(self, given: Iterator[list[Flat]]) -> list[Flat]:
        return next(given)


def spool_everything(put: Callable[[object, str, Any], None]) -> None:
    """`put` is setattr, or that of a MonkeyPatch."""
    put(reading, "Readers", Here)
    put(reading, "cores", lambda: 2)
    put(reading, "_FEW", 0)
