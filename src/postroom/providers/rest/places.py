"""In which mailbox a message is, and with which flags: only listings tell."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial

from postroom.model.errors import NotFound
from postroom.providers.rest import wire
from postroom.providers.rest.client import RestClient
from postroom.providers.rest.concurrency import all_of

KEPT = 20_000  # messages
_BEFORE = 20  # a listing moves on when messages arrive or leave: so many places are looked at before the last one


class Places:
    """Remembers where each message was listed, and looks there first."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._seen: OrderedDict[str, tuple[str, int]] = OrderedDict()

    async def page(self, mailbox: str, *, limit: int, offset: int = 0, unread: bool = False) -> list[wire.Row]:
        rows = await self._client.page(mailbox, limit=limit, offset=offset, unread=unread)
        self.note(mailbox, rows, offset)
        return rows

    def note(self, mailbox: str, rows: Iterable[wire.Row], offset: int = 0) -> None:
        for place, row in enumerate(rows, offset):
            self._seen[row.id] = (mailbox, place)
            self._seen.move_to_end(row.id)
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)

    def moved(self, ref: str, mailbox: str) -> None:
        self._seen[ref] = (mailbox, 0)

    async def every_row(self, mailbox: str, *, unread: bool = False) -> list[wire.Row]:
        """A mailbox as a whole. A message that arrives meanwhile moves the rest on: each counts once."""
        found: dict[str, wire.Row] = {}
        offset = 0
        while rows := await self.page(mailbox, limit=wire.PAGE, offset=offset, unread=unread):
            before = len(found)
            found.update((row.id, row) for row in rows)
            offset += len(rows)
            if len(rows) < wire.PAGE or len(found) == before:  # the end, or a service that ignores the offset
                break
        return list(found.values())

    async def find(self, refs: Sequence[str], mailboxes: Sequence[str]) -> dict[str, tuple[str, wire.Row]]:
        """Mailbox and row of each; those that no mailbox lists are missing."""
        found: dict[str, tuple[str, wire.Row]] = {}
        windows = self._windows(refs)
        pages = await all_of([partial(self._window, mailbox, offset) for mailbox, offset in windows])
        for (mailbox, _), rows in zip(windows, pages, strict=True):
            found.update((row.id, (mailbox, row)) for row in rows if row.id in refs)
        likely = dict.fromkeys([*(self._seen[ref][0] for ref in refs if ref in self._seen), *mailboxes])
        for mailbox in likely:
            if len(found) == len(set(refs)):
                break
            found.update((row.id, (mailbox, row)) for row in await self._all_or_none(mailbox) if row.id in refs)
        return found

    async def _window(self, mailbox: str, offset: int) -> list[wire.Row]:
        try:
            return await self.page(mailbox, limit=wire.PAGE, offset=offset)
        except NotFound:  # the mailbox is gone
            return []

    async def _all_or_none(self, mailbox: str) -> list[wire.Row]:
        try:
            return await self.every_row(mailbox)
        except NotFound:
            return []

    def _windows(self, refs: Sequence[str]) -> list[tuple[str, int]]:
        """The pages around the places where these were last seen, each once."""
        windows: list[tuple[str, int]] = []
        for mailbox, place in sorted({self._seen[ref] for ref in refs if ref in self._seen}):
            start = max(0, place - _BEFORE)
            if not windows or windows[-1][0] != mailbox or place >= windows[-1][1] + wire.PAGE - _BEFORE:
                windows.append((mailbox, start))
        return windows
