"""How much of what was fetched waits in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from postroom.model.changes import BulkMail, Marks
from postroom.sync.file.limits import Limits
from postroom.sync.following import arriving
from postroom.sync.following.arriving import Arriving
from postroom.sync.following.reading import Begun, Reading
from postroom.sync.tables.changing import Arrival

pytestmark = pytest.mark.anyio

PLACE: Any = SimpleNamespace(ref="INBOX", number=1)


class Source:
    """One message in each batch."""

    def __init__(self, size: int) -> None:
        self._raw = bytes(size)
        self.fetched = 0

    async def bulk(self, *given: Any, **_: Any) -> AsyncGenerator[list[BulkMail], None]:
        for number in given[2]:
            await checkpoint()
            self.fetched += 1
            yield [BulkMail(number, f"{number}", "", self._raw, len(self._raw), None, Marks(unread=True), "INBOX")]


class Halting(Reading):
    """Reads nothing until it is told to go on."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.goes_on = anyio.Event()
        self.read: list[int] = []

    async def results(self, begun: Begun, place: int) -> list[Arrival]:
        await self.goes_on.wait()
        self.read += [mail.number for mail in begun.mails]
        return []


class Nowhere:
    """Notes how many batches each block had."""

    def __init__(self) -> None:
        self.blocks: list[int] = []

    async def write_messages(self, _size: int, _write: object, block: Sequence[object], *_: object) -> None:
        self.blocks.append(len(block))
        await checkpoint()


@pytest.mark.parametrize(
    ("share", "waiting"),
    [(1_000, arriving._WAITING + 1), (4, 4), (1, 1), (0.5, 1)],
    ids=["small ones", "large ones", "one that takes all the room", "one that is too large for it"],
)
async def test_large_messages_do_not_fill_the_memory_while_they_wait(
    tmp_path: Path, share: float, waiting: int
) -> None:
    source, reading = Source(int(arriving._WAITING_BYTES / share)), Halting(tmp_path / "a.spool")
    numbers: Sequence[int] = range(40, 0, -1)
    async with anyio.create_task_group() as tasks:
        taking: Any = Arriving(Nowhere(), source, reading, Limits(), lambda: 0.0)  # type: ignore[arg-type]
        tasks.start_soon(taking.take_new, PLACE, "1", numbers)
        await anyio.wait_all_tasks_blocked()
        assert source.fetched == waiting + 1, "beside the one that has just come"
        reading.goes_on.set()
    assert reading.read == list(numbers)


async def test_the_last_blocks_are_small_since_nothing_is_read_while_they_are_written(tmp_path: Path) -> None:
    file, reading = Nowhere(), Halting(tmp_path / "a.spool")
    async with anyio.create_task_group() as tasks:
        taking: Any = Arriving(file, Source(10), reading, Limits(), lambda: 0.0)  # type: ignore[arg-type]
        tasks.start_soon(taking.take_new, PLACE, "1", range(12, 0, -1))
        await anyio.wait_all_tasks_blocked()  # all are fetched, and an end without messages is behind them
        reading.goes_on.set()
    assert file.blocks == [7, 4, 2]
