"""Threads by Message-ID, In-Reply-To and References. An equal subject is not a criterion.

A parent may arrive after its replies, or a message may connect two threads: then they become one. The older
thread's ref stays, and the other one keeps leading to it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from postroom.index.rows import ENVELOPE, chunks, envelopes_of, marks
from postroom.index.words import storable
from postroom.model.errors import NotFound
from postroom.model.message import Envelope

MAX_LINKS = 100  # of one message: its own id, its parent, the first and the latest it refers to


class Joining:
    """The threads of messages that are about to be written, created and merged as needed. What connects these messages
    is in the file after `write`; ask for `current` threads after all have joined. What is merged again and again, as a
    stranger may bring about, is moved in the file once."""

    def __init__(self, connection: sqlite3.Connection, links: Iterable[str]) -> None:
        """`links` of all that will join."""
        self._connection = connection
        self._threads = _threads_by_link(connection, list(dict.fromkeys(links)))
        self._merged: dict[str, str] = {}
        self._new: list[str] = []  # links
        self._created: list[int] = []  # threads

    def join(self, links: Sequence[str], thread_ref: str) -> str:
        """The thread that a message with these `links_of` it belongs to; `thread_ref` decides if it is set."""
        if thread_ref:
            thread = self.current(current(self._connection, thread_ref))
        elif found := {self.current(self._threads[link]) for link in links if link in self._threads}:
            thread = min(found, key=_age)
            self._merged.update(dict.fromkeys(found - {thread}, thread))
        else:
            thread = self._next_thread()
        for link in links:
            if link not in self._threads:
                self._threads[link] = thread
                self._new.append(link)
        return thread

    def current(self, thread: str) -> str:
        while (into := self._merged.get(thread)) is not None:
            self._merged[thread] = self._merged.get(into, into)  # a long chain is walked once
            thread = into
        return thread

    def _next_thread(self) -> str:
        """Its number is never used again, as AUTOINCREMENT has it: `write` enters it."""
        if self._created:
            number = self._created[-1] + 1
        else:
            sql = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'thread'), 0) + 1"
            (number,) = self._connection.execute(sql).fetchone()
        self._created.append(number)
        return str(number)

    def write(self) -> None:
        self._connection.executemany("INSERT INTO thread (id) VALUES (?)", [(number,) for number in self._created])
        merged = [(self.current(gone), gone) for gone in list(self._merged)]
        self._connection.executemany("UPDATE mail SET thread = ? WHERE thread = ?", merged)
        self._connection.executemany("UPDATE thread_link SET thread = ? WHERE thread = ?", merged)
        self._connection.executemany("UPDATE thread SET merged_into = ? WHERE id = ?", merged)
        self._connection.executemany(
            "INSERT INTO thread_link (message_id, thread) VALUES (?, ?)",
            [(link, self.current(self._threads[link])) for link in self._new],
        )


def thread_envelopes(connection: sqlite3.Connection, thread_ref: str) -> list[Envelope]:
    """Oldest first."""
    rows = connection.execute(
        f"SELECT {ENVELOPE} FROM mail WHERE mail.thread = ? ORDER BY mail.id",  # noqa: S608
        (current(connection, storable(thread_ref)),),
    ).fetchall()
    if not rows:
        raise NotFound("No message of this thread is left. List or search again.", reason="thread_gone")
    return envelopes_of(rows)


def mails_with_ids(
    connection: sqlite3.Connection,
    message_ids: Sequence[str],
    *,
    by_headers: bool = False,
    within: Sequence[str] | None = None,
) -> list[Envelope]:
    """Through their threads, which are indexed by id; messages are not. `within`: the threads `linked` by these ids."""
    ids = [storable(message_id) for message_id in message_ids[:MAX_LINKS]]
    found = linked(connection, message_ids) if within is None else within
    rows = connection.execute(
        f"SELECT {ENVELOPE} FROM mail WHERE mail.thread IN ({marks(found)}) AND mail.message_id IN ({marks(ids)})",  # noqa: S608
        (*found, *ids),
    ).fetchall()
    return envelopes_of(rows, by_headers=by_headers)


def linked(connection: sqlite3.Connection, message_ids: Sequence[str]) -> list[str]:
    """The threads of messages with these ids, or that name them."""
    return sorted(set(_threads_by_link(connection, message_ids[:MAX_LINKS]).values()))


def are_short(connection: sqlite3.Connection, threads: Sequence[str], most: int) -> bool:
    """Whether these threads have no more messages than that, all together."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM mail WHERE thread IN ({marks(threads)}) LIMIT ?)"  # noqa: S608
    return int(connection.execute(sql, (*threads, most + 1)).fetchone()[0]) <= most


def current(connection: sqlite3.Connection, thread_ref: str) -> str:
    """The current ref of a thread that may have been merged."""
    while True:
        row = connection.execute("SELECT merged_into FROM thread WHERE id = ?", (thread_ref,)).fetchone()
        if row is None or row[0] is None:
            return thread_ref
        thread_ref = row[0]


def links_of(envelope: Envelope) -> tuple[str, ...]:
    """The ids that connect it to others, each once; untrusted input is bounded."""
    references = envelope.references
    if len(references) > MAX_LINKS - 2:
        references = (references[0], *references[-(MAX_LINKS - 3) :])
    ids = (envelope.message_id, envelope.in_reply_to, *references)
    return tuple(dict.fromkeys([storable(link) for link in ids if link]))


def _threads_by_link(connection: sqlite3.Connection, links: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for chunk in chunks(links):
        sql = f"SELECT message_id, thread FROM thread_link WHERE message_id IN ({marks(chunk)})"  # noqa: S608
        found.update(connection.execute(sql, chunk).fetchall())
    return found


def _age(thread: str) -> tuple[int, str]:
    """Our own refs are increasing numbers; a provider's own come last, in any fixed order."""
    return (int(thread), "") if thread.isdecimal() else (1 << 63, thread)
