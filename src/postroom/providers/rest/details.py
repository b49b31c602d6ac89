"""What opened messages add to listings, remembered for as long as the listing shows the message unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio.to_thread

from postroom.mime.guarded import is_small, search_text
from postroom.model.errors import NotFound, PermissionDenied, PostroomError, ProviderError, ProviderUnavailable
from postroom.providers.http.concurrency import settled
from postroom.providers.rest import convert, wire
from postroom.providers.rest.client import RestClient
from postroom.providers.rest.convert import Details

KEPT = 5_000  # messages
KEPT_TEXT = 8 * 2**20  # characters of their texts
MOST_FAILED = 5
LARGEST = 16 * 2**20  # bytes of a message that is opened for a list: its attachments come with it

_Content = tuple[str, str, tuple[str, ...], str, str, int]


class DetailCache:
    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._kept: dict[str, tuple[_Content, Details]] = {}  # the oldest first, as in
        self._texts: dict[str, str] = {}
        self._characters = 0

    def known(self, row: wire.Row) -> Details | None:
        """Flags may change, a message does not; where it seems to have, it is opened again."""
        held = self._kept.get(row.id)
        return held[1] if held is not None and held[0] == _content(row) else None

    def known_text(self, row: wire.Row) -> str | None:
        """As searches look at it. A draft may be edited beyond what its row shows, so its text is never kept."""
        return self._texts.get(row.id) if self.known(row) is not None and not wire.has(row, wire.DRAFT) else None

    async def of(self, rows: Sequence[wire.Row]) -> list[Details | None]:
        """In order; None for a message that is gone or cannot be read. One of those must not hide the others."""
        missing = {row.id: row for row in rows if self.known(row) is None}
        await self.require_the_service(await settled([partial(self._open, row) for row in missing.values()]))
        return [self.known(row) for row in rows]

    async def _open(self, row: wire.Row) -> None:
        await self.learn(row, await self._client.message(row.id, largest=LARGEST))

    async def learn(self, row: wire.Row, found: dict[str, Any]) -> tuple[Details, str | None]:
        """Its text as well, unless it is a long one. Reading a body takes a while: not in the event loop."""
        learned, text = await anyio.to_thread.run_sync(_read, found)
        self._forget(row.id)
        self._kept[row.id] = (_content(row), learned)
        if text is not None and not wire.has(row, wire.DRAFT):
            self._texts[row.id] = text
            self._characters += len(text)
        if len(self._kept) > KEPT:
            self._forget(next(iter(self._kept)))
        while self._characters > KEPT_TEXT:
            self._forget_text(next(iter(self._texts)))
        return learned, text

    async def require_the_service(self, opened: Sequence[object]) -> None:
        """Raises what keeps all of them from being opened. A service that fails over a few and gives out others fails
        over these alone. One that lists messages and refuses to open them works, however many they are."""
        errors = [one for one in opened if isinstance(one, PostroomError) and not is_its_own_fault(one)]
        if not errors:
            return
        are_few = len(errors) <= MOST_FAILED and all(map(may_be_its_own_fault, errors))
        if not are_few or (len(errors) == len(opened) and not await self._gives_out_another()):
            raise errors[0]

    async def _gives_out_another(self) -> bool:
        """Than those that were asked for: the latest that was opened before."""
        for ref in [*self._kept][-1:]:
            try:
                await self._client.message(ref, largest=LARGEST)
            except PostroomError as error:
                return is_its_own_fault(error)
        return bool(self._kept)

    def _forget(self, ref: str) -> None:
        self._kept.pop(ref, None)
        self._forget_text(ref)

    def _forget_text(self, ref: str) -> None:
        self._characters -= len(self._texts.pop(ref, ""))


def _read(found: dict[str, Any]) -> tuple[Details, str | None]:
    body = convert.body(found)
    return convert.details(found), search_text(body) if is_small(body) else None


def _content(row: wire.Row) -> _Content:
    """Everything but the flags."""
    return row.subject, row.sender, row.to, row.date, row.preview, row.size


def is_its_own_fault(error: PostroomError) -> bool:
    is_of_content = isinstance(error, ProviderError) and not error.retryable
    return isinstance(error, NotFound | PermissionDenied) or is_of_content


def may_be_its_own_fault(error: PostroomError) -> bool:
    """Whether asking for others tells."""
    return isinstance(error, ProviderUnavailable)
