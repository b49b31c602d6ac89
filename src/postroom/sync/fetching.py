"""New messages of a mailbox without numbers, with their contents where those are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from postroom.model.errors import NotFound, PostroomError, ProviderError
from postroom.model.message import Envelope, Message
from postroom.providers.protocol import BatchFetch
from postroom.sync.changing import Arrival
from postroom.sync.limits import Limits
from postroom.sync.reading import headers_only, opened

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox


async def fetched(mailbox: Mailbox, rows: Sequence[Envelope], limits: Limits) -> list[Arrival]:
    """In any order. Those that are gone by now are missing; of those that the server lists and does not give out, there
    is what it lists."""
    if limits.mode == "headers":
        return [Arrival(headers_only(row)) for row in rows]
    small = [row.ref for row in rows if row.size <= limits.max_bytes]
    messages = await _messages(mailbox, small)
    read = await anyio.to_thread.run_sync(lambda: [opened(message) for message in messages])
    missing = set(small) - {message.envelope.ref for message in messages}
    there = await _still_there(mailbox, [row for row in rows if row.ref in missing])
    large = [row for row in rows if row.size > limits.max_bytes]
    return [*read, *(Arrival(headers_only(row)) for row in [*large, *there])]


async def _messages(mailbox: Mailbox, refs: Sequence[str]) -> list[Message]:
    if isinstance(mailbox, BatchFetch):
        try:
            return [message for message in await mailbox.fetch_many(refs) if message is not None]
        except PostroomError as error:
            if not _is_of_one(error):
                raise
    found = [await _message(mailbox, ref) for ref in refs]
    return [message for message in found if message is not None]


async def _message(mailbox: Mailbox, ref: str) -> Message | None:
    try:
        return await mailbox.fetch(ref)
    except PostroomError as error:
        if not _is_of_one(error):
            raise
        return None


def _is_of_one(error: PostroomError) -> bool:
    """Whether it may concern one message alone, which must not keep the others out."""
    return isinstance(error, NotFound) or (isinstance(error, ProviderError) and not error.retryable)


async def _still_there(mailbox: Mailbox, rows: Sequence[Envelope]) -> list[Envelope]:
    now = await mailbox.envelopes([row.ref for row in rows]) if rows else []
    return [row for row in now if row is not None]
