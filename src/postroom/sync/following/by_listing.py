"""A mirror of a mailbox that knows no numbers within a folder: filled by going through the pages of a listing, then
kept up to date by what the provider reports as changed (Gmail, Graph, JMAP), or by going through the listing again.

A walk through the listing is also how a mirror is compared with its server when the provider no longer knows what
changed: each message that is seen gets the walk's number, and those without it are asked for one by one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from postroom.index.labels import FORWARDED
from postroom.model.changes import ChangePage, FolderState, Marks
from postroom.model.errors import CursorExpired, NotFound, PostroomError
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope
from postroom.model.query.tree import Query
from postroom.providers.protocol import Changes, FolderNames
from postroom.sync.file.access import Access
from postroom.sync.file.limits import IS_DUE, Limits
from postroom.sync.file.status import fact, note_answer, note_fact
from postroom.sync.following.fetching import fetched
from postroom.sync.following.looking import Looked, looked_at
from postroom.sync.following.pages import Head, pages_of
from postroom.sync.tables import changing, identity, labelling, leaving, places, unread, walking
from postroom.sync.tables.changing import Arrival
from postroom.sync.tables.replacing import drop_replaced
from postroom.sync.tables.revising import revised
from postroom.sync.tables.walking import CURSOR, IS_MIDWAY, OUTLINE, WALKED_AT

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox
    from postroom.sync.tables.places import Place

_PAGE, _FIRST_PAGE = 200, 50
_CHANGES = 200
_FETCHED = 50  # messages at once
_COLLECTIONS = (Role.ALL, Role.FLAGGED)  # all their messages are in other folders too
_WALKS = 3  # a server with messages that no page shows is read again, but not for ever
_LOOKS = 3  # at folders that are made or renamed while messages are read
_RELISTED = 15 * 60.0  # seconds after which everything is compared where the provider reports no changes


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
        self.failure: PostroomError | None = None
        self.stated_at = 0.0  # nothing is announced with its messages
        self._reports = isinstance(mailbox, Changes)
        self._is_walking = False
        self._asked_at = 0.0  # when what is written next was asked for, at the earliest
        self._names: dict[str, str] = {}  # of all folders by ref, as they were last listed
        self._naming = 0  # see `FolderNames`
        self._late: set[str] = set()  # folders that were found after the changes in them were asked for

    async def round(self) -> bool:
        asked_at = self._asked_at = self._clock()
        self.failure = None
        put_off = await self._access.read(walking.those_put_off)
        late = set(self._late)
        folders = await self._take_folders()
        self._late = set(late)
        changed = await (self._take_changes() if self._reports else self._take_outline(folders))
        await self._look_again(await self._access.read(leaving.inside, late))
        self._late -= late
        await self._look_again([*put_off])
        if not await self.is_behind():
            await self._look_again(await self._access.read(leaving.in_gone_folders))
            await self._look_again(await self._access.read(labelling.without_folder))
        if self.failure is None:
            await self._access.write(walking.confirm, asked_at, self._low())
        await self._access.write(self._remove_folders)
        await self._read_again(await self._access.write(unread.due, self._limits, self._clock()))
        return changed

    async def is_behind(self) -> bool:
        return bool(await self._access.read(fact, IS_DUE))

    async def _take_folders(self) -> list[Folder]:
        listed = await self._mailbox.folders()
        self._names, self._naming = {folder.ref: folder.name for folder in listed}, self._naming_now()
        folders = [folder for folder in listed if folder.selectable]
        states = [FolderState(one, "-", "", one.ref) for one in folders if one.role not in _COLLECTIONS]
        await self._access.write(self._take_over, states)
        return folders

    def _take_over(self, connection: sqlite3.Connection, states: Sequence[FolderState]) -> None:
        """Of what is in a folder that was left out until now, nothing is reported as changed. Nor is what was put into
        another folder because that one had its folder's name until a moment ago."""
        before = places.places(connection)
        places.take_over(connection, states, self._leave_out, lambda _folder, _epoch, _number: "")
        labelling.take_over(connection, before, [state.folder for state in states])
        now = places.places(connection)
        self._late |= {place.ref for place in now} - {place.ref for place in before} if self._reports else set()
        left_out = {place.number for place in before if place.is_left_out}
        is_wanted = any(place.number in left_out and not place.is_left_out for place in now)
        is_doubtful = not isinstance(self._mailbox, FolderNames) and places.has_passed_on_a_name(before, now)
        if is_wanted or is_doubtful:
            walking.note_due(connection)
        if not self._reports:  # nothing tells what changed in the part that is there
            connection.execute("UPDATE mirrored_folder SET low = NULL WHERE NOT is_filled")
        identity.forget_old(connection, self._clock())

    def _remove_folders(self, connection: sqlite3.Connection) -> None:
        """Not while a comparison is due, which finds what was in them where it is now."""
        if not fact(connection, IS_DUE):
            leaving.leave_folders(connection, self._clock())
            places.remove_gone(connection, self._clock())

    def _low(self) -> int:
        """The second from which on everything is in a folder that is filled."""
        oldest = self._limits.oldest(self._clock())
        return 0 if oldest is None else int(oldest.timestamp())

    # --- changes

    async def _take_changes(self) -> bool:
        mailbox = cast("Changes", self._mailbox)
        cursor = await self._access.read(fact, CURSOR)
        if not cursor:
            page = await mailbox.changed_since("", limit=_CHANGES)
            await self._access.write(walking.compare_from, page.cursor)
            await self._take_folders()  # of what is in one that was made before the cursor, nothing is reported
            return True
        try:
            return await self._follow(mailbox, cursor)
        except CursorExpired:
            await self._access.write(note_fact, CURSOR, "")
            return await self._take_changes()

    async def _take_outline(self, folders: Sequence[Folder]) -> bool:
        """Where nothing is reported: everything is compared when counts or the newest messages differ, and now and
        then regardless, for what neither shows. What changes while that is done shows when it is done: the outline is
        the one from before."""
        if self._is_walking:
            return False
        page = await self._mailbox.search(Query(), limit=_FIRST_PAGE, offset=0)
        counts = [f"{folder.ref} {folder.total} {folder.unread}" for folder in folders]
        outline = "\n".join([*counts, *(f"{row.ref} {_marks(row)}" for row in page.items)])
        return await self._access.write(self._compare_outline, outline)

    def _compare_outline(self, connection: sqlite3.Connection, outline: str) -> bool:
        age = self._clock() - float(fact(connection, WALKED_AT) or 0)
        if outline == fact(connection, OUTLINE) and 0 <= age < _RELISTED:  # below 0: the clock was set back
            return False
        note_fact(connection, OUTLINE, outline)
        walking.note_due(connection)
        return True

    async def _follow(self, mailbox: Changes, cursor: str) -> bool:
        changed, has_more = False, True
        known = {cursor}
        is_midway = bool(await self._access.read(fact, IS_MIDWAY))
        while has_more or is_midway:
            is_midway = is_midway and has_more  # what an interrupted run began is as old as that: once more
            page = await mailbox.changed_since(cursor, limit=_CHANGES)
            await self._settle(page)
            if page.has_more and page.cursor in known:
                raise CursorExpired("The mail server keeps reporting that there are more changes.")
            known.add(page.cursor)
            changed = changed or bool(page.changed or page.removed)
            cursor, has_more = page.cursor, page.has_more
        return changed

    async def _settle(self, page: ChangePage) -> None:
        """What is new first: a message that got another ref is there before the old one is missed."""
        looks = []
        for start in range(0, len(page.changed), _CHANGES):
            looked = await self._looked_at(page.changed[start : start + _CHANGES])
            looked.gone += await self._take(list(looked.rows.values()), walk=None)
            looks.append((page.changed[start : start + _CHANGES], looked))
        await self._access.write(self._remove, page, looks)

    def _remove(
        self, connection: sqlite3.Connection, page: ChangePage, looks: Sequence[tuple[Sequence[str], Looked]]
    ) -> None:
        self._miss(connection, [*page.removed, *(ref for _, looked in looks for ref in looked.gone)])
        for asked, looked in looks:
            self._put_off_doubtful(connection, asked, looked)
        note_fact(connection, CURSOR, page.cursor)
        note_fact(connection, IS_MIDWAY, "1" if page.has_more else "")

    def _miss(self, connection: sqlite3.Connection, refs: Sequence[str]) -> None:
        changing.remove(connection, refs, self._clock(), seen_at=walking.confirmed_at(connection))

    # --- walks

    async def fill(self, after: Callable[[], Awaitable[None]] | None = None) -> None:
        self._is_walking = True
        began = self._asked_at = self._clock()
        try:
            for _ in range(_WALKS):
                due = await self._access.read(fact, IS_DUE)
                walk = await self._access.write(walking.next_walk)
                if await self._walk(walk, after):
                    break
        finally:
            self._is_walking = False
        await self._access.write(walking.filled, due, self._low(), began, self._clock())

    async def _walk(self, walk: int, after: Callable[[], Awaitable[None]] | None) -> bool:
        """Folder by folder, the inbox first. True if nothing was found that an earlier page should have shown."""
        for place in sorted(await self._access.read(_mirrored), key=_in_order):
            try:
                await self._walk_through(place, walk, after)
            except NotFound:
                if any(folder.ref == place.ref for folder in await self._take_folders()):
                    raise  # it is there, and could not be read
        unseen = await self._access.read(walking.unseen, walk)
        await self._look_again(unseen)
        return len(unseen) == 0 or not await self._access.read(walking.unseen, walk)

    async def _walk_through(self, place: Place, walk: int, after: Callable[[], Awaitable[None]] | None) -> None:
        head = Head()
        oldest = self._limits.oldest(self._clock())
        async with aclosing(pages_of(self._mailbox, place.ref, first=_FIRST_PAGE, size=_PAGE)) as pages:
            async for page in pages:
                items = [row for row in page.items if oldest is None or row.date is None or row.date >= oldest]
                gone = await self._take(items, walk=walk)
                await self._look_again([*page.gone, *gone], walk=walk)
                if head.goes_on_with(page.items) and self._reports:
                    await self._access.write(walking.reach_down, place, head.since)
                if after is not None:
                    await after()
                if page.items and not items:
                    return

    async def _look_again(self, refs: Sequence[str], walk: int | None = None) -> None:
        """Messages that no page showed: gone, or somewhere else by now."""
        for start in range(0, len(refs), _PAGE):
            some = refs[start : start + _PAGE]
            looked = await self._looked_at(some)
            looked.gone += await self._take(list(looked.rows.values()), walk=walk)
            await self._access.write(self._miss, looked.gone)
            await self._access.write(self._put_off_doubtful, some, looked)

    def _put_off_doubtful(self, connection: sqlite3.Connection, asked: Sequence[str], looked: Looked) -> None:
        doubts = walking.Doubts(looked.rows.keys(), looked.failed.keys(), looked.doubtful, looked.samples)
        walking.put_off(connection, asked, doubts, self._clock())

    async def _read_again(self, refs: Sequence[str]) -> None:
        """Those that could not be read. Nothing was reported of them, so that they can wait."""
        looked = await looked_at(self._access, self._mailbox, refs)
        await self._take(list(looked.rows.values()), walk=None)
        await self._access.write(self._miss, looked.gone)

    async def _looked_at(self, refs: Sequence[str]) -> Looked:
        looked = await looked_at(self._access, self._mailbox, refs)
        self.failure = next(iter(looked.failed.values()), self.failure)
        return looked

    async def _take(self, rows: Sequence[Envelope], walk: int | None) -> list[str]:
        """Known ones as they are now; new ones and those whose content may have changed fetched. The refs of those that
        are gone by then, as the server says."""
        gone: list[str] = []
        rows = await self._placed(rows)
        if not self._reports:
            await self._access.write(drop_replaced, rows, self._clock())
        new = await self._access.write(self._update, rows, walk)
        for start in range(0, len(new), _FETCHED):
            some = new[start : start + _FETCHED]
            arrivals = await fetched(self._access, self._mailbox, some, self._limits)
            listed = {row.ref: row for row in some}
            size = sum(one.size for one in arrivals)
            await self._access.write_messages(size, self._add, arrivals, listed, walk)
            gone += listed.keys() - {arrival.record.ref for arrival in arrivals}
        return gone

    def _update(self, connection: sqlite3.Connection, rows: Sequence[Envelope], walk: int | None) -> list[Envelope]:
        """Those that are to be fetched. One that is in no mirrored folder any more is not kept."""
        note_answer(connection, self._asked_at)
        names = _mirrored_names(connection)
        known = changing.known(connection, [row.ref for row in rows])
        kept = [row for row in rows if names.intersection(row.folders)]
        again, moved = revised(connection, kept, names, self._limits, is_reported=self._reports)
        same = known - again
        there = [row for row in kept if row.ref in same]
        changing.set_marks(connection, {row.ref: _marks(row) for row in moved})
        for row in moved:
            changing.place_in(connection, row.ref, [name for name in row.folders if name in names])
        changing.remove(connection, list(known - {row.ref for row in kept}), self._clock())
        if walk is not None:
            connection.executemany("UPDATE mirrored SET walk = ? WHERE ref = ?", [(walk, row.ref) for row in there])
        return [row for row in kept if row.ref not in same]

    def _add(
        self,
        connection: sqlite3.Connection,
        arrivals: Sequence[Arrival],
        rows: Mapping[str, Envelope],
        walk: int | None,
    ) -> None:
        """Only into folders that are mirrored. Folders and labels are those of the listing: meanwhile one may have got
        another name."""
        note_answer(connection, self._asked_at)
        names = _mirrored_names(connection)
        filed = []
        for arrival in arrivals:
            row = rows[arrival.record.ref]
            if wanted := [name for name in row.folders if name in names]:
                labels = (*row.labels, FORWARDED) if row.forwarded else row.labels
                filed.append(changing.filed(arrival, wanted, arrival.record.thread_ref, labels))
        added = changing.put(connection, filed, self._clock())
        if walk is not None:
            connection.executemany("UPDATE mirrored SET walk = ? WHERE ref = ?", [(walk, ref) for ref in added])

    async def _placed(self, rows: Sequence[Envelope]) -> Sequence[Envelope]:
        """With names that mean here what they meant when the rows were read: since the folders were listed, one may
        have been made, or have got another name, even that of another. No message in it is reported again. A name that
        is unknown before and after a look is that of a hidden folder."""
        hidden: set[str] = set()
        for _ in range(_LOOKS):
            before, unknown = self._names, self._unknown(rows, hidden)
            if not unknown and self._naming == self._naming_now():
                break
            await self._take_folders()
            changed = set().union(*unknown.values(), (name for _, name in before.items() ^ self._names.items()))
            odd = [row.ref for row in rows if changed.intersection((*row.folders, *row.labels))]
            again = await self._looked_at(odd)
            await self._access.write(self._put_off_doubtful, odd, again)
            rows = [again.rows.get(row.ref, row) for row in rows if row.ref not in again.gone]
            still = self._unknown(rows, hidden)
            hidden |= {name for ref, names in still.items() for name in names & unknown.get(ref, set())}
        return rows

    def _unknown(self, rows: Sequence[Envelope], hidden: set[str]) -> dict[str, set[str]]:
        """By the refs of those in folders that are neither listed nor hidden: the names of these."""
        known = {"", *self._names.values(), *hidden}
        return {row.ref: names for row in rows if (names := set(row.folders) - known)}

    def _naming_now(self) -> int:
        """Where the mailbox itself writes names into the rows, and says when they change."""
        return self._mailbox.naming() if isinstance(self._mailbox, FolderNames) else 0


def _marks(row: Envelope) -> Marks:
    return Marks(row.unread, row.starred, row.answered, row.forwarded, row.draft, row.labels)


def _mirrored(connection: sqlite3.Connection) -> list[Place]:
    return [place for place in places.places(connection) if not (place.is_left_out or place.is_gone)]


def _mirrored_names(connection: sqlite3.Connection) -> set[str]:
    return {place.name for place in _mirrored(connection)}


def _in_order(place: Place) -> tuple[bool, bool, int]:
    return place.role != Role.INBOX, place.role in (Role.TRASH, Role.JUNK), place.number
