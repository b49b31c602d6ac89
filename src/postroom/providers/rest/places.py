"""In which mailbox a message is, and with which flags: only listings and searches tell."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from postroom.model.errors import NotFound
from postroom.providers.http.concurrency import all_of
from postroom.providers.rest import wire
from postroom.providers.rest.client import RestClient

KEPT = 20_000  # messages
_BEFORE = 20  # a listing moves on when messages arrive or leave: so many places are looked at before the last one
_WORD = re.compile(r"\w+")

Placed = dict[str, tuple[str, wire.Row]]  # by id: the mailbox, and the row it has there


@dataclass(frozen=True, slots=True, order=True)
class _Request:
    """A request that showed a message: a page of a mailbox, or the results for a word."""

    mailbox: str
    offset: int = 0
    word: str = ""
    limit: int = wire.PAGE


class Places:
    """Remembers which request showed each message, and repeats that one first."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._seen: OrderedDict[str, _Request] = OrderedDict()

    async def page(self, mailbox: str, *, limit: int, offset: int = 0, unread: bool = False) -> list[wire.Row]:
        rows = await self._client.page(mailbox, limit=limit, offset=offset, unread=unread)
        for place, row in enumerate(rows, offset):
            self._note(row.id, _Request(mailbox, place))
        return rows

    async def found(self, word: str, mailbox: str, *, limit: int) -> list[wire.Row]:
        rows = await self._client.search(word, mailbox=mailbox, limit=limit)
        for row in rows:
            if row.id not in self._seen:
                self._note(row.id, _Request(mailbox, word=word, limit=limit))
        return rows

    def moved(self, ref: str, mailbox: str) -> None:
        self._note(ref, _Request(mailbox))

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

    async def near(self, refs: Iterable[str]) -> Placed:
        """Those that are still where they were seen last."""
        wanted = set(refs)
        requests = self._requests(wanted)
        answers = await all_of([partial(self._repeated, request) for request in requests])
        return {
            row.id: (request.mailbox, row)
            for request, rows in zip(requests, answers, strict=True)
            for row in rows
            if row.id in wanted
        }

    async def anywhere(self, ref: str, subject: str, mailboxes: Sequence[str]) -> tuple[str, wire.Row] | None:
        """None where no mailbox lists it. A word of the subject finds it with one request for each mailbox; where that
        fails, they are listed one after the other."""
        if word := max(_WORD.findall(subject), key=len, default=""):
            asked = [_Request(mailbox, word=word) for mailbox in mailboxes]
            for request, rows in zip(asked, await all_of([partial(self._repeated, one) for one in asked]), strict=True):
                if (row := _of(rows, ref)) is not None:
                    return request.mailbox, row
        for mailbox in mailboxes:
            if (row := _of(await self._listed(mailbox), ref)) is not None:
                return mailbox, row
        return None

    def _note(self, ref: str, request: _Request) -> None:
        self._seen[ref] = request
        self._seen.move_to_end(ref)
        if len(self._seen) > KEPT:
            self._seen.popitem(last=False)

    async def _repeated(self, request: _Request) -> list[wire.Row]:
        try:
            if request.word:
                return await self.found(request.word, request.mailbox, limit=request.limit)
            return await self.page(request.mailbox, limit=wire.PAGE, offset=request.offset)
        except NotFound:  # the mailbox is gone, or the service has no such request
            return []

    async def _listed(self, mailbox: str) -> list[wire.Row]:
        try:
            return await self.every_row(mailbox)
        except NotFound:
            return []

    def _requests(self, refs: set[str]) -> list[_Request]:
        """The searches that found them, and the pages around the places where they were listed, each once."""
        seen = {self._seen[ref] for ref in refs if ref in self._seen}
        pages: list[_Request] = []
        for one in sorted(request for request in seen if not request.word):
            last = pages[-1] if pages else None
            if last is None or last.mailbox != one.mailbox or one.offset >= last.offset + wire.PAGE - _BEFORE:
                pages.append(_Request(one.mailbox, max(0, one.offset - _BEFORE)))
        return [*pages, *sorted(request for request in seen if request.word)]


def _of(rows: Iterable[wire.Row], ref: str) -> wire.Row | None:
    return next((row for row in rows if row.id == ref), None)
