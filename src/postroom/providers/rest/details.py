"""What opened messages add to listings, remembered for as long as the listing shows the message unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio.to_thread

from postroom.model.errors import NotFound, PostroomError, ProviderError
from postroom.providers.http.concurrency import settled
from postroom.providers.rest import convert, wire
from postroom.providers.rest.client import RestClient
from postroom.providers.rest.convert import Details

KEPT = 5_000  # messages
LARGEST = 16 * 2**20  # bytes of a message that is opened for a list: its attachments come with it


class DetailCache:
    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._kept: dict[str, tuple[wire.Row, Details]] = {}  # the oldest first

    def known(self, row: wire.Row) -> Details | None:
        """Flags may change, a message does not; where it seems to have, it is opened again."""
        held = self._kept.get(row.id)
        return held[1] if held is not None and held[0] == _content(row) else None

    async def of(self, rows: Sequence[wire.Row]) -> list[Details | None]:
        """In order; None for a message that is gone or cannot be read. One of those must not hide the others."""
        missing = {row.id: row for row in rows if self.known(row) is None}
        opened = await settled([partial(self._open, row) for row in missing.values()])
        for error in opened:
            if isinstance(error, PostroomError) and not is_its_own_fault(error):
                raise error
        return [self.known(row) for row in rows]

    async def _open(self, row: wire.Row) -> None:
        await self.learn(row, await self._client.message(row.id, largest=LARGEST))

    async def learn(self, row: wire.Row, found: dict[str, Any]) -> Details:
        """Reading a body takes a while: not in the event loop."""
        learned = await anyio.to_thread.run_sync(convert.details, found)
        self._kept.pop(row.id, None)
        self._kept[row.id] = (_content(row), learned)
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return learned


def _content(row: wire.Row) -> wire.Row:
    return replace(row, flags=frozenset())


def is_its_own_fault(error: PostroomError) -> bool:
    return isinstance(error, NotFound) or (isinstance(error, ProviderError) and not error.retryable)
