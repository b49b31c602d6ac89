"""Reading methods of a mailbox, answered from a mirror's file. Each function is part of its caller's snapshot.

Thread refs have the form that the server's have, so that a handle given out by one is understood by the other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from postroom.index import rows, search, threads
from postroom.index.folders import list_folders
from postroom.index.words import storable
from postroom.mime.read.encoded_files import bytes_to_read
from postroom.model.by_fields import with_fields
from postroom.model.errors import NotFound
from postroom.model.folder import Role
from postroom.model.message import Envelope, Message, Page
from postroom.model.query.tree import Query
from postroom.sync.answering import ordering
from postroom.sync.answering.coverage import coverage_of_folders
from postroom.sync.answering.trust import Trust
from postroom.sync.file import contents

AT_ONCE = 50  # messages that the event loop looks up itself
_PARSED_AT_ONCE = 48 * 1024  # bytes of messages that it parses itself: twenty milliseconds for the worst found
_UNPACKED_AT_ONCE = 256 * 1024  # the same with the files in them, which are unpacked and not read


class _Room:
    """What is left of the time that the event loop can spare for parsing messages."""

    def __init__(self, trust: Trust, envelopes: Sequence[Envelope]) -> None:
        size = sum(envelope.size for envelope in envelopes)
        self._trust = trust
        self._left = _PARSED_AT_ONCE
        self._is_ample = not trust.at_once or size <= _PARSED_AT_ONCE
        has_files = any(envelope.has_attachments for envelope in envelopes)
        trust.spare(self._is_ample or (has_files and size <= _UNPACKED_AT_ONCE))

    def take(self, raw: bytes) -> None:
        if not self._is_ample:
            self._left -= bytes_to_read(raw)
            self._trust.spare(self._left >= 0)


@dataclass(frozen=True, slots=True)
class Lookup:
    """`threads_by_headers`: the server has no ids for threads, so a thread is named by its first Message-ID."""

    threads_by_headers: bool

    def search(self, connection: sqlite3.Connection, query: Query, limit: int, offset: int) -> Page[Envelope]:
        rank = partial(ordering.ranks, connection)
        by_headers = self.threads_by_headers
        return search.search(connection, query, limit=limit, offset=offset, rank=rank, by_headers=by_headers)

    def envelopes(self, connection: sqlite3.Connection, refs: Sequence[str]) -> list[Envelope | None]:
        return rows.envelopes(connection, refs, by_headers=self.threads_by_headers)

    def messages(
        self, connection: sqlite3.Connection, envelopes: Sequence[Envelope], trust: Trust
    ) -> dict[str, Message]:
        """By ref. Those whose content is not kept are missing."""
        room = _Room(trust, envelopes)
        found = [contents.message_of(connection, envelope.ref, envelope, room.take) for envelope in envelopes]
        return {message.envelope.ref: message for message in found if message is not None}

    def thread(self, connection: sqlite3.Connection, thread_ref: str, trust: Trust) -> list[Envelope]:
        """Oldest first. A draft in Trash was never sent and belongs to no conversation."""
        thread = self._thread_in_index(connection, thread_ref) if self.threads_by_headers else storable(thread_ref)
        thread = threads.current(connection, thread)
        trust.spare(threads.are_short(connection, [thread], AT_ONCE))
        found = threads.thread_envelopes(connection, thread)
        if not self.threads_by_headers:
            return found
        trash = {folder.name for folder in list_folders(connection) if folder.role == Role.TRASH}
        there = [one for one in found if not (one.draft and one.folder in trash)]
        if not there:
            raise _gone()
        return [with_fields(envelope, thread_ref=thread_ref) for envelope in _as_they_arrived(connection, there)]

    def mails_with_ids(
        self, connection: sqlite3.Connection, message_ids: Sequence[str], trust: Trust
    ) -> list[Envelope]:
        within = threads.linked(connection, message_ids)
        trust.spare(threads.are_short(connection, within, AT_ONCE))
        return threads.mails_with_ids(connection, message_ids, by_headers=self.threads_by_headers, within=within)

    def _thread_in_index(self, connection: sqlite3.Connection, thread_ref: str) -> str:
        row = connection.execute(
            "SELECT thread FROM thread_link WHERE message_id = ?1 UNION ALL SELECT thread FROM mail WHERE ref = ?1",
            (storable(thread_ref),),
        ).fetchone()
        if row is None:
            raise _gone()
        return str(row[0])


def _as_they_arrived(connection: sqlite3.Connection, there: Sequence[Envelope]) -> Sequence[Envelope]:
    """Within one second too, where a mirror has them in the order in which it came upon them."""
    if len({one.date for one in there}) == len(there):
        return there
    places = ordering.ranks(connection, [one.ref for one in there])
    return sorted(there, key=lambda one: places[one.ref], reverse=True)


def trusted(connection: sqlite3.Connection, trust: Trust, found: Sequence[Envelope]) -> dict[str, Envelope]:
    """By ref; none where the folders that they are in were not confirmed lately, and no drafts."""
    numbers = {folder.name: folder.ref for folder in list_folders(connection)}
    places = {numbers[name] for envelope in found for name in envelope.folders if name in numbers}
    if not trust.accepts(coverage_of_folders(connection, places), whole=False):
        return {}
    return {one.ref: one for one in found if not one.draft or trust.is_last_resort}


def _gone() -> NotFound:
    return NotFound("This thread no longer exists. List or search again.", reason="thread_gone")
