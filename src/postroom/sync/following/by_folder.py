"""A mirror of a mailbox that reports changes folder by folder (IMAP).

A round asks for the state of all folders and takes over what changed; the fill goes through each folder from its newest
message downwards, in turns. Every transaction leaves a consistent state: a process that is killed at any moment goes on
where it was, and nothing is missing or there twice.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import anyio

from postroom.model.changes import FolderChanges, FolderState, Identified, Marks
from postroom.model.errors import NotFound, PostroomError
from postroom.model.folder import Role
from postroom.sync.file.access import Access
from postroom.sync.file.status import note_answer
from postroom.sync.following.arriving import Arriving, Turn
from postroom.sync.following.identifying import identify
from postroom.sync.tables import changing, identity, places, refusals, replacing
from postroom.sync.tables.places import Place

if TYPE_CHECKING:
    from postroom.providers.protocol import FolderSync

T = TypeVar("T")

_FIRST_PAGE = 50
_ONE_BY_ONE = 1_000  # messages looked up by number, where the whole folder need not be read
_TURN = 1_000  # messages of one folder before the next has its turn


@dataclass(slots=True)
class _Looked:
    """What one folder's changes mean for the mirror. `is_new`: its numbers mean nothing yet, or no longer."""

    place: Place
    state: FolderState
    changes: FolderChanges
    is_new: bool
    gone: list[str] = field(default_factory=list)  # refs
    marked: dict[str, Marks] = field(default_factory=dict)  # by ref
    new: list[int] = field(default_factory=list)


class ByFolder:
    def __init__(
        self,
        access: Access,
        mailbox: FolderSync,
        arriving: Arriving,
        leave_out: Sequence[str],
        clock: Callable[[], float],
    ) -> None:
        self._access = access
        self._mailbox = mailbox
        self._arriving = arriving
        self._leave_out = tuple(leave_out)
        self._clock = clock
        self.is_partial = False
        self.failure: PostroomError | None = None  # it puts off folders, not messages
        self.stated_at = 0.0
        self._has_begun = False
        self._first: Turn | None = None  # of an empty mirror
        self._coming = 0  # messages that the server has for it
        self._refused: set[int] = set()  # numbers of the folders that could not be read in this round
        self._unfillable: set[int] = set()  # the same in a fill: another run tries again
        self._lost: set[int] = set()  # that are gone since this fill began, or numbered anew, or away for a moment

    async def round(self) -> bool:
        """Everything as the server has it now, as far as it is filled. True if something may have changed. The first
        one of an empty mirror is partial: it only begins the inbox, whose first page is what somebody waits for."""
        asked_at = self._clock()
        self._refused.clear()
        states = {state.folder.ref: state for state in await self._mailbox.folder_states()}
        self.stated_at = time.monotonic()
        known = await self._access.write(self._take_over, list(states.values()))
        mirrored = sorted((place for place in known if not (place.is_left_out or place.is_gone)), key=_in_order)
        changed = [place for place in mirrored if _may_have_changed(place, states[place.ref])]
        is_first = not self._has_begun and all(place.low is None for place in mirrored)
        self._has_begun = True
        only_newest = is_first and self._arriving.oldest is None  # otherwise most of these may be too old
        if is_first:
            changed = mirrored[:1]
            self._coming = sum(states[place.ref].folder.total or 0 for place in mirrored)
        looked = [
            found
            for place in changed
            if (found := await self._look(place, states[place.ref], only_newest=only_newest)) is not None
        ]
        self.is_partial = is_first and (len(mirrored) > 1 or not looked)
        await self._adopt(looked)
        for one in looked:
            if not (one.is_new or one.place.number in self._refused):
                await self._unless_refused(
                    one.place, self._arriving.take_new(one.place, one.changes.epoch, one.new), self._refused
                )
        leaving = {ref for one in looked for ref in one.gone}
        if leaving:
            await identify(self._access)
        for one in looked:  # after all that is new, so that a message that was moved is there before it is missed
            if one.place.number not in self._refused:
                await self._access.write(self._settle, one, asked_at, leaving)
        self._first = _first_page(looked) if only_newest else None
        others = {place.number for place in mirrored} - {place.number for place in changed}
        unchanged = [place for place in mirrored if place.number in others and place.low is not None]
        await self._access.write(self._conclude, unchanged, asked_at)
        return bool(looked) or len(mirrored) < len(known)

    def _take_over(self, connection: sqlite3.Connection, states: Sequence[FolderState]) -> list[Place]:
        places.take_over(connection, states, self._leave_out, self._mailbox.ref_of)
        identity.forget_old(connection, self._clock())
        return places.places(connection)

    async def _look(self, place: Place, state: FolderState, *, only_newest: bool) -> _Looked | None:
        """None where the folder disappeared since, or is listed and cannot be read: it stays as it is, without being
        confirmed. `only_newest`: listing all takes the longer the more there are."""
        since = place.since if place.low is not None else None
        answer = (
            self._mailbox.newest(place.ref, _FIRST_PAGE)
            if only_newest
            else self._mailbox.folder_changes(place.ref, state.epoch, since)
        )
        looked = await self._compare(place, state, answer)
        if looked is None or looked.is_new or await self._adds_up(looked):
            return looked
        return await self._look_at_all(place, state)

    async def _adds_up(self, looked: _Looked) -> bool:
        """Whether what the server reports explains what it says that it has."""
        kept = await self._access.read(_count, looked.place) - len(looked.gone)
        before, now = looked.place.cursor, looked.state.cursor
        return self._mailbox.explains(looked.changes, before, now, kept=kept, new=looked.new)

    async def _look_at_all(self, place: Place, state: FolderState) -> _Looked | None:
        """Where the server does not know what happened since the last time."""
        evidence = await self._unless_refused(place, self._mailbox.evidence(place.ref, place.epoch), self._refused)
        if evidence is None:
            return None
        await self._access.write(replacing.drop_others, place.number, evidence, self._clock())
        since = replace(place.since, cursor="")
        return await self._compare(place, state, self._mailbox.folder_changes(place.ref, state.epoch, since))

    async def _compare(self, place: Place, state: FolderState, answer: Awaitable[FolderChanges]) -> _Looked | None:
        changes = await self._unless_refused(place, answer, self._refused)
        if changes is None:
            return None
        is_new = place.low is None or place.epoch != changes.epoch
        return await self._access.read(_compared, _Looked(place, state, changes, is_new))

    async def _unless_refused(self, place: Place, answer: Awaitable[T], refused: set[int]) -> T | None:
        """None where the folder is gone, or the server refuses it, which is noted: others go on."""
        try:
            return await answer
        except PostroomError as error:
            if not refusals.is_of_one_folder(error):
                raise
            await self._note_refusal(place, error, refused)
            return None

    async def _note_refusal(self, place: Place, error: PostroomError, refused: set[int]) -> None:
        refused.add(place.number)
        await self._access.write(refusals.note, place.number, error, self._clock())

    async def _adopt(self, looked: Sequence[_Looked]) -> None:
        """New messages that are known from another place take their row with them instead of being fetched."""
        lost = await self._access.read(_lost, {ref for one in looked for ref in one.gone})
        for one in looked:
            if lost and one.new:
                answer = self._mailbox.identify(one.place.ref, one.changes.epoch, one.new)
                found = await self._unless_refused(one.place, answer, self._refused)
                await self._access.write(self._take_rows, one, found or [], lost)

    def _take_rows(
        self, connection: sqlite3.Connection, one: _Looked, found: list[Identified], lost: dict[str, list[str]]
    ) -> None:
        """Drafts are fetched: programs save a changed one under its old Message-ID."""
        marked: dict[str, Marks] = {}
        adopted: set[int] = set()
        for mail in sorted(found, key=lambda mail: mail.number):
            rows = lost.get(identity.of_server(mail.identity))
            if rows and mail.marks is not None and not mail.marks.draft:
                changing.move(connection, rows.pop(0), mail.ref, one.place.ref, number=mail.number, now=self._clock())
                marked[mail.ref] = mail.marks
                adopted.add(mail.number)
        changing.set_marks(connection, marked)
        one.new = [number for number in one.new if number not in adopted]

    def _settle(self, connection: sqlite3.Connection, one: _Looked, asked_at: float, leaving: Collection[str]) -> None:
        note_answer(connection, asked_at)
        changing.remove(connection, one.gone, self._clock(), seen_at=one.place.as_of, leaving=leaving)
        changing.set_marks(connection, one.marked)
        is_of_it = one.state.epoch == one.changes.epoch  # otherwise another had its name when it was listed
        connection.execute(
            "UPDATE mirrored_folder SET epoch = ?, cursor = ?, as_of = ? WHERE number = ?",
            (one.changes.epoch, one.state.cursor if is_of_it else "", asked_at, one.place.number),
        )
        if one.place.number not in self._unfillable:
            refusals.forget(connection, one.place.number)
        if one.is_new:  # the fill does the rest
            top = max(one.changes.present or (), default=0)
            connection.execute(
                "UPDATE mirrored_folder SET low = ?, is_filled = ? WHERE number = ?",
                (top + 1, not top, one.place.number),
            )

    def _conclude(self, connection: sqlite3.Connection, unchanged: Sequence[Place], asked_at: float) -> None:
        _confirm(connection, unchanged, asked_at)
        places.remove_gone(connection, self._clock())

    # --- the first fill

    async def is_behind(self) -> bool:
        """A folder that the server refused to fill is left to another run."""
        return self.is_partial or any(
            place.number not in self._unfillable for place in await self._access.read(_unfilled)
        )

    async def fill(self, after: Callable[[], Awaitable[None]] | None = None) -> None:
        """All folders that are not filled, in turns: a first page of each, the inbox first, then the rest. `after` is
        called after every block."""
        written = anyio.Event()
        self._lost.clear()

        async def note_written() -> None:
            if after is not None:
                await after()
            written.set()

        async def skip(turn: Turn, error: PostroomError) -> None:
            if isinstance(error, NotFound):
                self._lost.add(turn.place.number)
            else:
                await self._note_refusal(turn.place, error, self._unfillable)
            written.set()  # the others need not wait for it

        await self._arriving.take(self._turns(written), note_written, skip)

    async def _turns(self, written: anyio.Event) -> AsyncGenerator[Turn, None]:
        """Folders that are begun meanwhile join in. Until a block is `written`, there is nothing beside the very first
        page: to list the folder and to start processes at the same time made it wait twice as long. Then the processes
        that many messages need start, beside the listing."""
        waiting: dict[int, _Remaining] = {}
        first, self._first = self._first, None
        if first is not None:
            yield first
            await written.wait()
            self._arriving.get_ready(self._coming)
        while True:
            for place in await self._access.read(_unfilled):
                if place.number not in waiting and place.number not in self._unfillable:
                    remaining = await self._remaining(place, first)
                    if remaining is not None:
                        waiting[place.number] = remaining
                        yield remaining.turn(_FIRST_PAGE, is_urgent=True)
            unfinished = [remaining for remaining in waiting.values() if remaining.numbers]
            if not unfinished:
                return
            for remaining in unfinished:
                if remaining.place.number in self._unfillable | self._lost:
                    remaining.numbers.clear()
                else:
                    yield remaining.turn(_TURN)

    async def _remaining(self, place: Place, first: Turn | None) -> _Remaining | None:
        """Nothing in another epoch, and not the first page, where that is on its way already. Where only newer messages
        are wanted, the others are anywhere among the numbers: one that was copied into the folder keeps its date. None
        where the folder is gone, or refused."""
        low, coming = place.low or 0, set[int]()
        if first is not None and (first.place.number, first.epoch) == (place.number, place.epoch):
            low, coming = min(low, first.numbers[-1]), set(first.numbers)
        answer = self._mailbox.folder_changes(place.ref, place.epoch, None, self._arriving.oldest)
        changes = await self._unless_refused(place, answer, self._unfillable)
        if changes is None:
            return None
        if place.refusal:
            await self._access.write(refusals.forget, place.number)
        known = coming | await self._access.read(_numbers, place)
        present = changes.present or () if changes.epoch == place.epoch else ()
        numbers = sorted(number for number in present if number not in known)
        return _Remaining(place, changes.epoch, numbers, low)


@dataclass(slots=True)
class _Remaining:
    """The numbers of a folder that are not in the index, ascending: turns are taken off the end."""

    place: Place
    epoch: str
    numbers: list[int]
    low: int

    def turn(self, size: int, *, is_urgent: bool = False) -> Turn:
        taken = self.numbers[-size:][::-1]
        del self.numbers[-size:]
        turn = Turn(self.place, self.epoch, taken, self.low, below=len(self.numbers), is_urgent=is_urgent)
        self.low = taken[-1] if taken else 0
        return turn


def _first_page(looked: Sequence[_Looked]) -> Turn | None:
    """Of the folder that was begun. Nobody knows yet whether there is more."""
    numbers = sorted(looked[0].changes.present or (), reverse=True) if looked else []
    if not numbers:
        return None
    return Turn(looked[0].place, looked[0].changes.epoch, numbers, numbers[0] + 1, below=1, is_urgent=True)


def _may_have_changed(place: Place, state: FolderState) -> bool:
    """Without a cursor only a comparison tells."""
    return place.low is None or not state.cursor or (place.epoch, place.cursor) != (state.epoch, state.cursor)


def _compared(connection: sqlite3.Connection, looked: _Looked) -> _Looked:
    place, changes = looked.place, looked.changes
    is_told = not looked.is_new and changes.present is None  # by the server, what changed and what is gone
    known = _refs(connection, place, {*changes.marks, *changes.gone} if is_told else None)
    if looked.is_new:
        looked.gone, looked.new = list(known.values()), sorted(changes.present or ())
        return looked
    shown = {number: marks for number, marks in changes.marks.items() if marks is not None}
    hidden = changes.marks.keys() - shown.keys()
    there = (shown.keys() | set(changes.present or ())) - hidden
    gone = known.keys() - there if changes.present is not None else known.keys() & {*changes.gone, *hidden}
    looked.gone = [known[number] for number in sorted(gone)]
    looked.marked = {known[number]: marks for number, marks in shown.items() if number in known and number not in gone}
    low = place.low or 0
    looked.new = sorted(number for number in there - known.keys() - {*changes.gone} if number >= low)
    return looked


def _refs(connection: sqlite3.Connection, place: Place, numbers: Collection[int] | None) -> dict[int, str]:
    """By number. None: of the whole folder."""
    sql = "SELECT number, ref FROM mirrored WHERE folder = ?"
    if numbers is None or len(numbers) > _ONE_BY_ONE:
        return dict(connection.execute(sql, (place.number,)).fetchall())
    rows = (connection.execute(f"{sql} AND number = ?", (place.number, number)).fetchone() for number in numbers)
    return dict(row for row in rows if row is not None)


def _lost(connection: sqlite3.Connection, missing: set[str]) -> dict[str, list[str]]:
    """The refs of messages that are no longer where they were, by the server's own ids: without one, only a message
    that was fetched is known to be the same."""
    rows = connection.execute(
        "SELECT ref FROM mirrored WHERE folder IN (SELECT number FROM mirrored_folder WHERE is_gone)"
    )
    found: dict[str, list[str]] = {}
    for former in identity.describe(connection, missing | {ref for (ref,) in rows}):
        if former.identity.startswith(identity.BY_SERVER):
            found.setdefault(former.identity, []).append(former.ref)
    return found


def _confirm(connection: sqlite3.Connection, unchanged: Sequence[Place], asked_at: float) -> None:
    note_answer(connection, asked_at)
    connection.executemany(
        "UPDATE mirrored_folder SET as_of = ? WHERE number = ?", [(asked_at, place.number) for place in unchanged]
    )
    for place in unchanged:
        if place.refusal and place.is_filled:  # nothing of it is missing
            refusals.forget(connection, place.number)


def _unfilled(connection: sqlite3.Connection) -> list[Place]:
    """Those that are begun."""
    found = [
        place
        for place in places.places(connection)
        if not (place.is_filled or place.is_left_out or place.is_gone or place.low is None)
    ]
    return sorted(found, key=_in_order)


def _count(connection: sqlite3.Connection, place: Place) -> int:
    (count,) = connection.execute("SELECT total FROM folder WHERE id = ?", (place.number,)).fetchone()
    return int(count)


def _numbers(connection: sqlite3.Connection, place: Place) -> set[int]:
    return {number for (number,) in connection.execute("SELECT number FROM mirrored WHERE folder = ?", (place.number,))}


def _in_order(place: Place) -> tuple[bool, bool, int]:
    return place.role != Role.INBOX, place.role in (Role.TRASH, Role.JUNK), place.number
