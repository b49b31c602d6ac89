"""New messages of a mailbox without numbers, with their contents where those are kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio.to_thread

from postroom.model.errors import (
    InvalidRequest,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
)
from postroom.model.message import Envelope, Message
from postroom.model.query.tree import In, Query
from postroom.providers.protocol import BatchFetch
from postroom.sync.file.limits import Limits
from postroom.sync.following.reading import headers_only, opened
from postroom.sync.tables.changing import Arrival

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox
    from postroom.sync.file.access import Access

_MOST_FAILED = 5  # of the messages that are fetched together; where there are more, it is the server that fails
_OTHERS = 3  # messages that are tried to find out whether it gives out any
_TRIED = 10  # of all folders, where none of those is known to be given out
_SMALL = 100_000  # bytes
_REFUSALS = (PermissionDenied, InvalidRequest)  # the latter where a message is too large for the server or a proxy


async def fetched(access: Access, mailbox: Mailbox, rows: Sequence[Envelope], limits: Limits) -> list[Arrival]:
    """In any order. Those that are gone by now are missing; of those that the server lists and does not give out, or
    over which it fails whenever it is asked for them, there is what it lists."""
    if limits.mode == "headers":
        return [Arrival(headers_only(row)) for row in rows]
    small = [row for row in rows if row.size <= limits.max_bytes]
    messages, failed = await _messages(access, mailbox, [row.ref for row in small])
    read = await anyio.to_thread.run_sync(lambda: [opened(message) for message in messages])
    told = {message.envelope.ref for message in messages} | failed
    there = await _still_there(mailbox, [row for row in small if row.ref not in told])
    bare = [row for row in rows if row.ref in failed or row.size > limits.max_bytes]
    return [*read, *(Arrival(headers_only(row)) for row in [*bare, *there])]


async def _messages(access: Access, mailbox: Mailbox, refs: Sequence[str]) -> tuple[list[Message], set[str]]:
    """And the refs of those over which the server fails."""
    if isinstance(mailbox, BatchFetch):
        try:
            return [message for message in await mailbox.fetch_many(refs) if message is not None], set()
        except PostroomError as error:
            if not (_is_of_one(error) or _may_be_of_one(error)):
                raise
    found: list[Message] = []
    failed: dict[str, PostroomError] = {}
    for ref in refs:
        try:
            found.append(await mailbox.fetch(ref))
        except PostroomError as error:
            if _is_of_one(error):
                continue
            failed[ref] = error
            if not _may_be_of_one(error) or len(failed) - len(_refused(failed)) > _MOST_FAILED:
                raise
    others = [message.envelope.ref for message in found]
    if failed and not others:
        others = await access.read(_known, refs) or await _elsewhere(mailbox, refs)
    again, hopeless = await _asked_again(mailbox, failed, others)
    return [*found, *again], hopeless


async def _asked_again(
    mailbox: Mailbox, failed: Mapping[str, PostroomError], others: Sequence[str]
) -> tuple[list[Message], set[str]]:
    """A server that fails over these once more, and gives out others before that and afterwards, fails over these
    alone: otherwise it is the server that fails. One that refuses them has said so, however many they are."""
    found: list[Message] = []
    hopeless = _refused(failed)
    for ref in failed.keys() - hopeless:
        await _require_any(mailbox, others, failed)
        try:
            found.append(await mailbox.fetch(ref))
        except PostroomError as error:
            if _may_be_of_one(error):
                hopeless.add(ref)
            elif not _is_of_one(error):
                raise
    if hopeless:
        await _require_any(mailbox, others, failed)
    return found, hopeless


async def _require_any(mailbox: Mailbox, refs: Sequence[str], failed: Mapping[str, PostroomError]) -> None:
    """`failed`: why it gives out none where there is nothing else that could be asked for."""
    failure = next(iter(failed.values()))
    for ref in refs[:_OTHERS]:
        try:
            await mailbox.fetch(ref)
        except PostroomError as error:
            failure = error
        else:
            return
    raise failure


async def _elsewhere(mailbox: Mailbox, besides: Sequence[str]) -> list[str]:
    """The ref of a message that the server gives out: of each folder the oldest is tried first, then one in the middle,
    then the newest. None where it gives out none of some."""
    folders = [one for one in await mailbox.folders() if one.selectable and one.total != 0]
    offsets = [(folder, max(0, (folder.total or 1) * share // 2 - 1)) for share in (2, 1, 0) for folder in folders]
    tried = 0
    for folder, offset in offsets:
        page = await mailbox.search(Query(In(folder.ref)), limit=1, offset=offset)
        for row in page.items:
            if row.ref in besides or row.size > _SMALL:
                continue
            tried += 1
            with suppress(PostroomError):
                await mailbox.fetch(row.ref)
                return [row.ref]
        if tried == _TRIED:
            break
    return []


def _refused(failed: Mapping[str, PostroomError]) -> set[str]:
    return {ref for ref, error in failed.items() if isinstance(error, _REFUSALS)}


def _known(connection: sqlite3.Connection, besides: Sequence[str]) -> list[str]:
    """The refs of small messages that were fetched before."""
    rows = connection.execute(
        "SELECT mirrored.ref FROM mirrored JOIN content USING (id) JOIN mail ON mail.ref = mirrored.ref"
        " WHERE size < ? ORDER BY mirrored.id DESC LIMIT ?",
        (_SMALL, _OTHERS + len(besides)),
    )
    return [ref for (ref,) in rows if ref not in besides]


def _is_of_one(error: PostroomError) -> bool:
    """Whether it may concern one message alone, which must not keep the others out."""
    return isinstance(error, NotFound) or (isinstance(error, ProviderError) and not error.retryable)


def _may_be_of_one(error: PostroomError) -> bool:
    """Whether asking for the others tells. A server that says "later" says nothing about a message."""
    return isinstance(error, (ProviderUnavailable, *_REFUSALS))


async def _still_there(mailbox: Mailbox, rows: Sequence[Envelope]) -> list[Envelope]:
    """As it is listed where the server does not even tell that of one: others are asked for without it."""
    try:
        now = await mailbox.envelopes([row.ref for row in rows]) if rows else []
    except PostroomError as error:
        if not _is_of_one(error):
            raise
        middle = len(rows) // 2
        halves = [rows[:middle], rows[middle:]] if middle else []
        return [row for half in halves for row in await _still_there(mailbox, half)] if halves else [*rows]
    return [row for row in now if row is not None]
