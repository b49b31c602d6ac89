"""Reading methods of a mailbox, answered from a mirror's file. Each function is part of its caller's snapshot.

Thread refs have the form that the server's have, so that a handle given out by one is understood by the other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from postroom.index import rows, search, threads
from postroom.index.folders import list_folders
from postroom.index.words import storable
from postroom.model.errors import NotFound
from postroom.model.folder import Role
from postroom.model.message import Envelope, Message, Page
from postroom.model.query.tree import Query
from postroom.sync import contents, ordering


@dataclass(frozen=True, slots=True)
class Lookup:
    """`threads_by_headers`: the server has no ids for threads, so a thread is named by its first Message-ID."""

    threads_by_headers: bool

    def search(self, connection: sqlite3.Connection, query: Query, limit: int, offset: int) -> Page[Envelope]:
        rank = partial(ordering.ranks, connection)
        page = search.search(connection, query, limit=limit, offset=offset, rank=rank)
        return replace(page, items=tuple(map(self._named, page.items)))

    def envelopes(self, connection: sqlite3.Connection, refs: Sequence[str]) -> list[Envelope | None]:
        return [found and self._named(found) for found in rows.envelopes(connection, refs)]

    def message(self, connection: sqlite3.Connection, ref: str) -> Message | None:
        """None where its content is not kept."""
        found = contents.message_of(connection, ref)
        return found and replace(found, envelope=self._named(found.envelope))

    def thread(self, connection: sqlite3.Connection, thread_ref: str) -> list[Envelope]:
        """Oldest first. A draft in Trash was never sent and belongs to no conversation."""
        if not self.threads_by_headers:
            return threads.thread_envelopes(connection, thread_ref)
        found = threads.thread_envelopes(connection, self._thread_in_index(connection, thread_ref))
        trash = {folder.name for folder in list_folders(connection) if folder.role == Role.TRASH}
        there = [one for one in found if not (one.draft and one.folder in trash)]
        if not there:
            raise _gone()
        return [replace(envelope, thread_ref=thread_ref) for envelope in there]

    def mails_with_ids(self, connection: sqlite3.Connection, message_ids: Sequence[str]) -> list[Envelope]:
        return [self._named(found) for found in threads.mails_with_ids(connection, message_ids)]

    def _thread_in_index(self, connection: sqlite3.Connection, thread_ref: str) -> str:
        row = connection.execute(
            "SELECT thread FROM thread_link WHERE message_id = ?1 UNION ALL SELECT thread FROM mail WHERE ref = ?1",
            (storable(thread_ref),),
        ).fetchone()
        if row is None:
            raise _gone()
        return str(row[0])

    def _named(self, envelope: Envelope) -> Envelope:
        if not self.threads_by_headers:
            return envelope
        first = envelope.references[0] if envelope.references else envelope.in_reply_to or envelope.message_id
        return replace(envelope, thread_ref=first or envelope.ref)


def _gone() -> NotFound:
    return NotFound("This thread no longer exists. List or search again.", reason="thread_gone")
