"""Messages on their way into a mirror: fetched, read and written at the same time, in order, with a bounded number of
them in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, cast

import anyio

from postroom.model.errors import PostroomError
from postroom.sync.file import space
from postroom.sync.file.access import Access
from postroom.sync.file.limits import Limits
from postroom.sync.following.reading import Begun, Reading, headers_only
from postroom.sync.tables import changing, identity, refusals
from postroom.sync.tables.changing import Arrival
from postroom.sync.tables.places import Place

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from postroom.model.changes import Identified
    from postroom.model.message import Envelope
    from postroom.providers.protocol import FolderSync, Mailbox

# Batches between fetching and writing: as much as two transactions take. With the batches of one alone, those who read
# were done with them before it was written, and waited.
_WAITING = 16
_WAITING_BYTES = 64 * 1024 * 1024  # of those that this process is to read itself; the others' are in the spool
# Of one transaction. Keys that follow no order (ids of messages, digests) are all over their tables, and each page that
# gets one is written anew: with 500 messages, in a mirror of 10,000, writing takes a quarter longer.
_BLOCK = 2_000
_HEADERS = 250  # messages at once, without bodies


@dataclass(frozen=True, slots=True)
class Turn:
    """Messages of one folder. In the first fill their numbers descend, `above` is how low the folder is filled before
    them, and `below` is how many there are below them. `is_urgent`: somebody may be waiting for these."""

    place: Place
    epoch: str
    numbers: Sequence[int]
    above: int | None = None
    below: int = 0
    is_urgent: bool = False

    @property
    def is_last(self) -> bool:
        return not self.below


@dataclass(frozen=True, slots=True)
class _Batch:
    turn: Turn
    begun: Begun | list[Arrival]
    above: int | None
    low: int
    is_end: bool
    size: int = 0  # bytes in memory when it is read

    @property
    def waiting_bytes(self) -> int:
        return sum(len(mail.raw) for mail in self.begun.mails) if isinstance(self.begun, Begun) else 0

    def done(self, arrivals: Sequence[Arrival]) -> _Batch:
        """Without the bytes that were read."""
        return replace(self, begun=[], size=sum(one.size for one in arrivals))


class _Room:
    """For bytes that wait. What is larger than all of it waits alone."""

    def __init__(self) -> None:
        self._taken = 0
        self._left = anyio.Event()

    async def enter(self, size: int) -> None:
        while self._taken and self._taken + size > _WAITING_BYTES:
            self._left = anyio.Event()
            await self._left.wait()
        self._taken += size

    def leave(self, size: int) -> None:
        self._taken -= size
        self._left.set()


class Arriving:
    def __init__(
        self,
        access: Access,
        mailbox: FolderSync,
        reading: Reading,
        limits: Limits,
        clock: Callable[[], float],
    ) -> None:
        self._access = access
        self._mailbox = mailbox
        self._reading = reading
        self._limits = limits
        self._clock = clock

    @property
    def oldest(self) -> datetime | None:
        """That is wanted. None: of any age."""
        return self._limits.oldest(self._clock())

    def get_ready(self, coming: int) -> None:
        """For about so many messages."""
        if self._limits.mode != "headers":
            self._reading.get_ready(coming)

    async def take_new(self, place: Place, epoch: str, numbers: Sequence[int]) -> None:
        async def turns() -> AsyncGenerator[Turn, None]:
            if numbers:
                yield Turn(place, epoch, numbers)

        await self.take(turns())

    async def take(
        self,
        turns: AsyncIterable[Turn],
        after: Callable[[], Awaitable[None]] | None = None,
        skip: Callable[[Turn, PostroomError], Awaitable[None]] | None = None,
    ) -> None:
        """`after` is called after each block that was written. What was fetched before a failure is still written.
        Where one folder alone cannot be read, `skip` is told, and the next turn follows; without it, that is a
        failure."""
        send, receive = anyio.create_memory_object_stream[_Batch](_WAITING)
        room = _Room()
        failures: list[PostroomError] = []

        async def fetch() -> None:
            try:
                await self._fetch(turns, send, room, skip)
            except PostroomError as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks, receive:
            tasks.start_soon(fetch)
            try:
                await self._write(receive, room, after)
            except PostroomError as error:
                failures.insert(0, error)
                tasks.cancel_scope.cancel()
        if failures:
            raise failures[0]

    async def _fetch(
        self,
        turns: AsyncIterable[Turn],
        send: MemoryObjectSendStream[_Batch],
        room: _Room,
        skip: Callable[[Turn, PostroomError], Awaitable[None]] | None,
    ) -> None:
        async with send:
            async for turn in turns:
                try:
                    async with aclosing(self._batches(turn)) as batches:
                        async for batch in batches:
                            await room.enter(batch.waiting_bytes)
                            await send.send(batch)
                except PostroomError as error:
                    if skip is None or not refusals.is_of_one_folder(error):
                        raise
                    await skip(turn, error)

    async def _batches(self, turn: Turn) -> AsyncGenerator[_Batch, None]:
        """The last one of a turn lowers to its last number, even where the messages there are gone; the last of all to
        nothing, unless there are older messages that are not wanted."""
        above = turn.above
        source = self._headers(turn) if self._limits.mode == "headers" else self._whole(turn)
        async with aclosing(source) as fetched:
            async for begun, low in fetched:
                yield _Batch(turn, begun, above, low, is_end=False)
                above = low if above is not None else None
        end = above or 0 if self._limits.days else 0
        yield _Batch(turn, [], above, end if turn.is_last else turn.numbers[-1], is_end=turn.is_last)

    async def _whole(self, turn: Turn) -> AsyncGenerator[tuple[Begun | list[Arrival], int], None]:
        coming = self._coming(turn)
        source = self._mailbox.bulk(turn.place.ref, turn.epoch, turn.numbers, max_bytes=self._limits.max_bytes)
        async with aclosing(source) as batches:
            async for batch in batches:
                if batch:
                    yield self._reading.begin(batch, coming), batch[-1].number
                coming = max(0, coming - len(batch))

    def _coming(self, turn: Turn) -> int:
        """Where somebody waits, no process is started."""
        return 0 if turn.is_urgent else len(turn.numbers) + turn.below

    async def _headers(self, turn: Turn) -> AsyncGenerator[tuple[Begun | list[Arrival], int], None]:
        place = turn.place
        for start in range(0, len(turn.numbers), _HEADERS):
            numbers = turn.numbers[start : start + _HEADERS]
            found = await self._envelopes(turn, numbers)
            told = {one.number: one for one in await self._mailbox.identify(place.ref, turn.epoch, numbers)}
            there = [number for number, one in told.items() if one.marks is not None]
            if missing := [number for number in there if number not in found]:  # the folder was away for a moment
                found |= await self._envelopes(turn, missing)
            arrivals = [
                Arrival(headers_only(found[number]), _identity(found[number], told.get(number)), place.number, number)
                for number in numbers
                if number in found
            ]
            yield arrivals, numbers[-1]

    async def _envelopes(self, turn: Turn, numbers: Sequence[int]) -> dict[int, Envelope]:
        """Those that are there. None where the folder is not."""
        refs = [self._mailbox.ref_of(turn.place.ref, turn.epoch, number) for number in numbers]
        found = zip(numbers, await cast("Mailbox", self._mailbox).envelopes(refs), strict=True)
        return {number: envelope for number, envelope in found if envelope is not None}

    async def _write(
        self, batches: MemoryObjectReceiveStream[_Batch], room: _Room, after: Callable[[], Awaitable[None]] | None
    ) -> None:
        block: list[tuple[_Batch, list[Arrival]]] = []
        async for batch in batches:
            arrivals = await self._read(batch)
            room.leave(batch.waiting_bytes)
            block.append((batch.done(arrivals), arrivals))
            if batch.turn.is_urgent or _is_full(block) or _is_enough(block, batches):
                await self._access.write_messages(_size(block), _write_block, block, self._clock())
                block = []
                if after is not None:
                    await after()
        if block:
            await self._access.write_messages(_size(block), _write_block, block, self._clock())

    async def _read(self, batch: _Batch) -> list[Arrival]:
        if isinstance(batch.begun, Begun):
            return await self._reading.results(batch.begun, batch.turn.place.number)
        return batch.begun


def _identity(envelope: Envelope, told: Identified | None) -> str:
    return "" if told is None else identity.of_server(told.identity) or identity.of_envelope(envelope, told.arrived)


def _is_full(block: Sequence[tuple[_Batch, list[Arrival]]]) -> bool:
    messages = sum(len(arrivals) for _, arrivals in block)
    return messages >= _BLOCK or _size(block) >= space.BLOCK


def _is_enough(block: Sequence[tuple[_Batch, list[Arrival]]], batches: MemoryObjectReceiveStream[_Batch]) -> bool:
    """Where nothing waits. Once everything is fetched, of what is left a half each time: while the last block is
    written, nobody has anything to read."""
    waiting = batches.statistics()
    is_all_fetched = not waiting.open_send_streams
    return waiting.current_buffer_used < (len(block) if is_all_fetched else 1)


def _size(block: Sequence[tuple[_Batch, list[Arrival]]]) -> int:
    return sum(batch.size for batch, _ in block)


def _write_block(connection: sqlite3.Connection, block: Sequence[tuple[_Batch, list[Arrival]]], now: float) -> None:
    """What came from an epoch that has ended, or from a folder that is gone, is void. A folder that is not filled down
    to where a batch begins (its mirror was started over meanwhile) is not lowered by it."""
    # A block may be one folder's first page, and there may be thousands of folders.
    numbers = ",".join({str(batch.turn.place.number) for batch, _ in block})
    rows = connection.execute(
        f"SELECT number, epoch, name FROM mirrored_folder JOIN folder ON id = number WHERE number IN ({numbers})"  # noqa: S608
    )
    now_there = {number: (epoch, name) for number, epoch, name in rows}
    valid = [(batch, found) for batch, found in block if _is_valid(batch.turn, now_there)]
    # Its thread is found by what it names: a program that leaves out References names another first message than the
    # rest of the conversation.
    arrivals = [
        changing.filed(arrival, [now_there[batch.turn.place.number][1]]) for batch, found in valid for arrival in found
    ]
    changing.add(connection, arrivals, now)
    for batch, _ in valid:
        if batch.above is not None:
            connection.execute(
                "UPDATE mirrored_folder SET low = min(low, ?), is_filled = is_filled OR ?"
                " WHERE number = ? AND low <= ?",
                (batch.low, batch.is_end, batch.turn.place.number, batch.above),
            )


def _is_valid(turn: Turn, now_there: dict[int, tuple[str, str]]) -> bool:
    epoch, _ = now_there.get(turn.place.number, ("", ""))
    return bool(epoch) and epoch == turn.epoch
