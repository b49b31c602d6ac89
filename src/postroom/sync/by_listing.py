"""A mirror of a mailbox that knows no numbers within a folder: filled by going through the pages of a listing, then
kept up to date by what the provider reports as changed (Gmail, Graph, JMAP), or by going through the listing again.

A walk through the listing is also how a mirror is compared with its server when the provider no longer knows what
changed: each message that is seen gets the walk's number, and those without it are asked for one by one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from postroom.model.changes import ChangePage, FolderState, Marks
from postroom.model.errors import CursorExpired, NotFound
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Message
from postroom.model.query.tree import In, Query
from postroom.providers.protocol import BatchFetch, Changes
from postroom.sync import changing, identity, places
from postroom.sync.access import Access
from postroom.sync.changing import Arrival
from postroom.sync.heads import Head
from postroom.sync.limits import IS_DUE, Limits
from postroom.sync.reading import headers_only, opened
from postroom.sync.status import fact, note_answer, note_fact

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox
    from postroom.sync.places import Place

_PAGE, _FIRST_PAGE = 200, 50
_CHANGES = 200
_FETCHED = 50  # messages at once
_COLLECTIONS = (Role.ALL, Role.FLAGGED)  # all their messages are in other folders too
_WALKS = 3  # a server whose pages shift while they are read is read again, but not for ever
_RELISTED = 15 * 60.0  # seconds after which everything is compared where the provider reports no changes
CURSOR, WALK, OUTLINE, WALKED_AT = "cursor", "walk", "outline", "walked_at"
FROM_NOTHING = "from_nothing"  # everything in the mirror was seen or reported since the cursor that it began with


class ByListing:
    def __init__(
        self,
        access: Access,
        mailbox: Mailbox,
        limits: Limits,
        leave_out: Sequence[str],
        clock: Callable[[], float],
    ) -> None:
        self._access = access
        self._mailbox = mailbox
        self._limits = limits
        self._leave_out = tuple(leave_out)
        self._clock = clock
        self.is_partial = False
        self.stated_at = 0.0  # nothing is announced with its messages

    async def round(self) -> bool:
        asked_at = self._clock()
        folders = [folder for folder in await self._mailbox.folders() if folder.selectable]
        states = [FolderState(one, "-", "", one.ref) for one in folders if one.role not in _COLLECTIONS]
        await self._access.write(self._take_over, states)
        changed = await (self._take_changes() if isinstance(self._mailbox, Changes) else self._take_outline(folders))
        await self._access.write(_confirm, asked_at)
        await self._access.write(places.remove_gone, self._clock())
        return changed

    async def is_behind(self) -> bool:
        return bool(await self._access.read(fact, IS_DUE))

    def _take_over(self, connection: sqlite3.Connection, states: Sequence[FolderState]) -> None:
        places.take_over(connection, states, self._leave_out, lambda _folder, _epoch, _number: "")
        identity.forget_old(connection, self._clock())

    # --- changes

    async def _take_changes(self) -> bool:
        mailbox = cast("Changes", self._mailbox)
        cursor = await self._access.read(fact, CURSOR)
        if not cursor:
            page = await mailbox.changed_since("", limit=_CHANGES)
            await self._access.write(_compare_from, page.cursor)
            return True
        try:
            return await self._follow(mailbox, cursor)
        except CursorExpired:
            await self._access.write(note_fact, CURSOR, "")
            return await self._take_changes()

    async def _take_outline(self, folders: Sequence[Folder]) -> bool:
        """Where nothing is reported: everything is compared when counts or the newest messages differ, and now and
        then regardless, for what neither shows."""
        page = await self._mailbox.search(Query(), limit=_FIRST_PAGE, offset=0)
        counts = [f"{folder.ref} {folder.total} {folder.unread}" for folder in folders]
        outline = "\n".join([*counts, *(f"{row.ref} {_marks(row)}" for row in page.items)])
        return await self._access.write(self._compare_outline, outline)

    def _compare_outline(self, connection: sqlite3.Connection, outline: str) -> bool:
        age = self._clock() - float(fact(connection, WALKED_AT) or 0)
        if outline == fact(connection, OUTLINE) and age < _RELISTED:
            return False
        note_fact(connection, OUTLINE, outline)
        note_fact(connection, IS_DUE, "1")
        return True

    async def _follow(self, mailbox: Changes, cursor: str) -> bool:
        changed, has_more = False, True
        while has_more:
            page = await mailbox.changed_since(cursor, limit=_CHANGES)
            await self._settle(page)
            changed = changed or bool(page.changed or page.removed)
            cursor, has_more = page.cursor, page.has_more
        return changed

    async def _settle(self, page: ChangePage) -> None:
        """What is new first: a message that got another ref is there before the old one is missed."""
        rows = await self._mailbox.envelopes(page.changed)
        there = [row for row in rows if row is not None]
        gone = [ref for ref, row in zip(page.changed, rows, strict=True) if row is None]
        await self._take(there, walk=None)
        await self._access.write(self._remove, [*page.removed, *gone], page.cursor)

    def _remove(self, connection: sqlite3.Connection, refs: Sequence[str], cursor: str) -> None:
        changing.remove(connection, refs, self._clock(), seen_at=0.0)
        note_fact(connection, CURSOR, cursor)

    # --- walks

    async def fill(self, after: Callable[[], Awaitable[None]] | None = None) -> None:
        for _ in range(_WALKS):
            walk = await self._access.write(_next_walk)
            if await self._walk(walk, after):
                break
        await self._access.write(_filled, self._clock())

    async def _walk(self, walk: int, after: Callable[[], Awaitable[None]] | None) -> bool:
        """Folder by folder, the inbox first. True if nothing was found that an earlier page should have shown."""
        for place in sorted(await self._access.read(_mirrored), key=_in_order):
            await self._walk_through(place, walk, after)
        unseen = await self._access.read(_unseen, walk)
        await self._look_again(unseen)
        return len(unseen) == 0 or not await self._access.read(_unseen, walk)

    async def _walk_through(self, place: Place, walk: int, after: Callable[[], Awaitable[None]] | None) -> None:
        offset, size = 0, _FIRST_PAGE
        head = Head()
        oldest = self._limits.oldest(self._clock())
        while True:
            try:
                page = await self._mailbox.search(Query(In(place.ref)), limit=size, offset=offset)
            except NotFound:
                return
            items = [row for row in page.items if oldest is None or row.date is None or row.date >= oldest]
            await self._take(items, walk=walk)
            if head.goes_on_with(page.items) and isinstance(self._mailbox, Changes):
                await self._access.write(_reach_down, place, head.since)
            if after is not None:
                await after()
            if not page.has_more or not page.items or (page.items and not items):
                return
            offset += max(1, len(page.items) - len(page.items) // 10)  # pages overlap: messages may go meanwhile
            size = _PAGE

    async def _look_again(self, refs: Sequence[str]) -> None:
        """Messages that no page showed: gone, or somewhere else by now."""
        for start in range(0, len(refs), _PAGE):
            some = refs[start : start + _PAGE]
            rows = await self._mailbox.envelopes(some)
            await self._take([row for row in rows if row is not None], walk=None)
            gone = [ref for ref, row in zip(some, rows, strict=True) if row is None]
            await self._access.write(changing.remove, gone, self._clock(), seen_at=0.0)

    async def _take(self, rows: Sequence[Envelope], walk: int | None) -> None:
        """Known ones as they are now, new ones fetched."""
        known = await self._access.write(_update, rows, walk)
        new = [row for row in rows if row.ref not in known]
        for start in range(0, len(new), _FETCHED):
            arrivals = await self._fetched(new[start : start + _FETCHED])
            await self._access.write(_add, arrivals, self._clock(), walk or 0)

    async def _fetched(self, rows: Sequence[Envelope]) -> list[Arrival]:
        if self._limits.mode == "headers":
            return [Arrival(headers_only(row)) for row in rows]
        small = [row.ref for row in rows if row.size <= self._limits.max_bytes]
        large = [Arrival(headers_only(row)) for row in rows if row.size > self._limits.max_bytes]
        messages = await self._messages(small)
        read = await anyio.to_thread.run_sync(lambda: [opened(message) for message in messages])
        return [*read, *large]

    async def _messages(self, refs: Sequence[str]) -> list[Message]:
        if isinstance(self._mailbox, BatchFetch):
            return [message for message in await self._mailbox.fetch_many(refs) if message is not None]
        found = []
        for ref in refs:
            try:
                found.append(await self._mailbox.fetch(ref))
            except NotFound:
                continue
        return found


def _update(connection: sqlite3.Connection, rows: Sequence[Envelope], walk: int | None) -> set[str]:
    known = changing.known(connection, [row.ref for row in rows])
    there = [row for row in rows if row.ref in known]
    changing.set_marks(connection, {row.ref: _marks(row) for row in there})
    for row in there:
        changing.place_in(connection, row.ref, row.folders)
    if walk is not None:
        connection.executemany("UPDATE mirrored SET walk = ? WHERE ref = ?", [(walk, row.ref) for row in there])
    return known


def _marks(row: Envelope) -> Marks:
    return Marks(row.unread, row.starred, row.answered, row.forwarded, row.draft, row.labels)


def _add(connection: sqlite3.Connection, arrivals: Sequence[Arrival], now: float, walk: int) -> None:
    """Only into folders that are mirrored; one that is in none of them is left out."""
    names = {place.name for place in _mirrored(connection)}
    filed = [one for arrival in arrivals if (one := _filed(arrival, names)) is not None]
    added = changing.add(connection, filed, now)
    connection.executemany("UPDATE mirrored SET walk = ? WHERE ref = ?", [(walk, ref) for ref in added])


def _filed(arrival: Arrival, names: set[str]) -> Arrival | None:
    folders = [name for name in arrival.record.folders if name in names]
    return changing.filed(arrival, folders, arrival.record.thread_ref) if folders else None


def _mirrored(connection: sqlite3.Connection) -> list[Place]:
    return [place for place in places.places(connection) if not (place.is_left_out or place.is_gone)]


def _next_walk(connection: sqlite3.Connection) -> int:
    walk = int(fact(connection, WALK) or 0) + 1
    note_fact(connection, WALK, str(walk))
    return walk


def _unseen(connection: sqlite3.Connection, walk: int) -> list[str]:
    return [ref for (ref,) in connection.execute("SELECT ref FROM mirrored WHERE walk < ?", (walk,))]


def _reach_down(connection: sqlite3.Connection, place: Place, since: int) -> None:
    """What comes to that part of the folder from now on is reported as changed: the cursor is older than the walk."""
    if not fact(connection, FROM_NOTHING):
        return
    connection.execute(
        "UPDATE mirrored_folder SET low = min(coalesce(low, ?1), ?1) WHERE number = ?2 AND NOT is_filled",
        (since, place.number),
    )


def _compare_from(connection: sqlite3.Connection, cursor: str) -> None:
    """Of messages that are there already nobody knows whether they still exist, until the walk has seen them."""
    is_empty = connection.execute("SELECT 1 FROM mirrored LIMIT 1").fetchone() is None
    note_fact(connection, FROM_NOTHING, "1" if is_empty else "")
    connection.execute("UPDATE mirrored_folder SET low = NULL, as_of = NULL WHERE NOT is_filled")
    note_fact(connection, CURSOR, cursor)
    note_fact(connection, IS_DUE, "1")


def _filled(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("UPDATE mirrored_folder SET is_filled = 1, low = 0 WHERE NOT is_left_out")
    note_fact(connection, IS_DUE, "")
    note_fact(connection, WALKED_AT, str(now))


def _confirm(connection: sqlite3.Connection, asked_at: float) -> None:
    """Not while a comparison is due, only after which the mirror is as the server was; of the first one, those parts
    that it has been through. New folders have nothing yet that was not reported as changed."""
    note_answer(connection, asked_at)
    if fact(connection, IS_DUE):
        connection.execute(
            "UPDATE mirrored_folder SET as_of = ? WHERE low IS NOT NULL AND NOT is_filled AND NOT is_left_out",
            (asked_at,),
        )
        return
    connection.execute(
        "UPDATE mirrored_folder SET as_of = ?, is_filled = 1, low = 0 WHERE NOT is_left_out",
        (asked_at,),
    )


def _in_order(place: Place) -> tuple[bool, bool, int]:
    return place.role != Role.INBOX, place.role in (Role.TRASH, Role.JUNK), place.number
