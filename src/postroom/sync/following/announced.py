"""Messages that came with the news of them: written at once, before the look at the server that follows.

That look settles everything else. It finds these in the index already, and takes over what happened to them since.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from postroom.sync.file.access import Access
from postroom.sync.file.limits import Limits
from postroom.sync.following.arriving import Arriving
from postroom.sync.following.reading import Reading
from postroom.sync.tables import places
from postroom.sync.tables.places import Place

if TYPE_CHECKING:
    from postroom.model.changes import Announced, BulkMail
    from postroom.providers.protocol import FolderSync


async def take(access: Access, news: Announced, reading: Reading, limits: Limits, clock: Callable[[], float]) -> None:
    """Only for the process that synchronizes, and only if `news` is later than the states of folders that its last look
    noted: a message that was removed in between would come back for good. Nothing for a mirror of headers alone: that
    reads only what a list shows."""
    place = await access.read(_place_of, news) if limits.mode == "full" else None
    if place is not None:
        arriving = Arriving(access, cast("FolderSync", _Fetched(news.mails)), reading, limits, clock)
        await arriving.take_new(place, news.epoch, [mail.number for mail in news.mails])


def _place_of(connection: sqlite3.Connection, news: Announced) -> Place | None:
    """Where they belong, if that is mirrored and filled down to them."""
    lowest = min((mail.number for mail in news.mails), default=0)
    for place in places.places(connection):
        is_there = (place.ref, place.epoch) == (news.folder_ref, news.epoch)
        if is_there and place.low is not None and place.low <= lowest and not (place.is_left_out or place.is_gone):
            return place
    return None


@dataclass(frozen=True, slots=True)
class _Fetched:
    """In place of a mailbox that would have to fetch them."""

    mails: Sequence[BulkMail]

    async def bulk(self, *_: object, **__: object) -> AsyncGenerator[list[BulkMail], None]:
        yield list(self.mails)
