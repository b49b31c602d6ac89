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
# A listing moves on when messages arrive or leave: so many places before and after the last one are looked at, first.
_NEAR = 10
_BEFORE = 20  # and then so many before it, in a whole page
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

    def moved(self, refs: Iterable[str], mailbox: str) -> None:
        """A guess: that they are the first ones there."""
        for place, ref in enumerate(refs):
            self._note(ref, _Request(mailbox, place))

    async def rows(self, mailbox: str, *, limit: int, offset: int, unread: bool = False) -> tuple[list[wire.Row], bool]:
        """As many as wanted, and whether there are more. One row more than wanted tells that; where exactly as many as
        wanted come, that may be all that the service gives at once, and it is asked."""
        asked = min(limit + 1, wire.PAGE)
        found = await self.page(mailbox, limit=asked, offset=offset, unread=unread)
        if limit >= wire.PAGE and len(found) == asked:
            return await self._rows_after(found, mailbox, limit=limit, offset=offset, unread=unread)
        if len(found) == limit:
            return found, bool(await self._client.page(mailbox, limit=1, offset=offset + limit, unread=unread))
        return found[:limit], len(found) > limit

    async def _rows_after(
        self, first: list[wire.Row], mailbox: str, *, limit: int, offset: int, unread: bool
    ) -> tuple[list[wire.Row], bool]:
        """More than one request gives. Each begins with the last row of the one before: where that is not there,
        messages went meanwhile, and what follows is left to the next page."""
        found = {row.id: row for row in first}
        while len(found) <= limit:
            asked = min(limit + 2 - len(found), wire.PAGE)
            rows = await self.page(mailbox, limit=asked, offset=offset + len(found) - 1, unread=unread)
            new = [row for row in rows if row.id not in found]
            if len(new) == len(rows):
                return list(found.values()), True
            found.update((row.id, row) for row in new)
            if len(rows) < asked or not new:
                break
        return list(found.values())[:limit], len(found) > limit

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
        """Those that are still where they were seen last, or not far from there."""
        wanted = set(refs)
        placed = await self._among(wanted, self._closest(wanted))
        if missing := wanted - placed.keys():
            placed |= await self._among(missing, self._pages(missing))
        return placed

    async def _among(self, wanted: set[str], requests: Sequence[_Request]) -> Placed:
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
            found = await self._among({ref}, [_Request(mailbox, word=word) for mailbox in mailboxes])
            if ref in found:
                self._note(ref, _Request(found[ref][0], word=word))  # no longer where it was listed once
                return found[ref]
        return (await self.listed([ref], mailboxes)).get(ref)

    async def listed(self, refs: Iterable[str], mailboxes: Sequence[str]) -> Placed:
        """Those that the mailboxes list, each as a whole, until all are found."""
        wanted = set(refs)
        placed: Placed = {}
        for mailbox in mailboxes:
            rows = [] if wanted <= placed.keys() else await self._listed(mailbox)
            placed |= {row.id: (mailbox, row) for row in rows if row.id in wanted and row.id not in placed}
        return placed

    def _note(self, ref: str, request: _Request) -> None:
        self._seen[ref] = request
        self._seen.move_to_end(ref)
        if len(self._seen) > KEPT:
            self._seen.popitem(last=False)

    async def _repeated(self, request: _Request) -> list[wire.Row]:
        try:
            if request.word:
                return await self.found(request.word, request.mailbox, limit=request.limit)
            return await self.page(request.mailbox, limit=request.limit, offset=request.offset)
        except NotFound:  # the mailbox is gone, or the service has no such request
            return []

    async def _listed(self, mailbox: str) -> list[wire.Row]:
        try:
            return await self.every_row(mailbox)
        except NotFound:
            return []

    def _closest(self, refs: set[str]) -> list[_Request]:
        """The searches that found them, and the rows around the places where they were listed. A whole page takes
        the service and us more than twice as long."""
        seen = self._last(refs)
        around = [_around(places) for places in _grouped(seen, _NEAR)]
        return [*around, *sorted(request for request in seen if request.word)]

    def _pages(self, refs: set[str]) -> list[_Request]:
        """Whole pages from a little before the places where they were listed."""
        firsts = [places[0] for places in _grouped(self._last(refs), _BEFORE)]
        return [_Request(first.mailbox, max(0, first.offset - _BEFORE)) for first in firsts]

    def _last(self, refs: set[str]) -> set[_Request]:
        return {self._seen[ref] for ref in refs if ref in self._seen}


def _grouped(seen: Iterable[_Request], margin: int) -> list[list[_Request]]:
    """The places in listings, in order, together where one page has them with so many rows before and after them."""
    groups: list[list[_Request]] = []
    for one in sorted(request for request in seen if not request.word):
        first = groups[-1][0] if groups else None
        if first is not None and first.mailbox == one.mailbox and one.offset + 2 * margin < first.offset + wire.PAGE:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _around(places: Sequence[_Request]) -> _Request:
    begin = max(0, places[0].offset - _NEAR)
    return _Request(places[0].mailbox, begin, limit=min(wire.PAGE, places[-1].offset + _NEAR + 1 - begin))
