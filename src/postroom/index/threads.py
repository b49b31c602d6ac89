"""Threads by Message-ID, In-Reply-To and References. An equal subject is not a criterion.

A parent may arrive after its replies, or a message may connect two threads: then they become one. The older
thread's ref stays, and the other one keeps leading to it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from postroom.index.rows import ENVELOPE, envelopes_of, marks
from postroom.index.words import storable
from postroom.model.errors import NotFound
from postroom.model.message import Envelope

MAX_LINKS = 100  # of one message: its own id, its parent, the first and the latest it refers to


def thread_of(connection: sqlite3.Connection, envelope: Envelope) -> str:
    """The thread this message belongs to, created or merged as needed; `envelope.thread_ref` decides if it is set."""
    links = _links(envelope)
    if envelope.thread_ref:
        thread = current(connection, envelope.thread_ref)
    elif found := _threads_linked(connection, links):
        thread = min(found, key=_age)
        for other in found - {thread}:
            _merge(connection, other, thread)
    else:
        thread = str(connection.execute("INSERT INTO thread DEFAULT VALUES").lastrowid)
    connection.executemany(
        "INSERT OR IGNORE INTO thread_link (message_id, thread) VALUES (?, ?)", [(link, thread) for link in links]
    )
    return thread


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
    connection: sqlite3.Connection, message_ids: Sequence[str], *, by_headers: bool = False
) -> list[Envelope]:
    """Through their threads, which are indexed by id; messages are not."""
    ids = [storable(message_id) for message_id in message_ids[:MAX_LINKS]]
    found = sorted(_threads_linked(connection, ids))
    rows = connection.execute(
        f"SELECT {ENVELOPE} FROM mail WHERE mail.thread IN ({marks(found)}) AND mail.message_id IN ({marks(ids)})",  # noqa: S608
        (*found, *ids),
    ).fetchall()
    return envelopes_of(rows, by_headers=by_headers)


def linked(connection: sqlite3.Connection, message_ids: Sequence[str]) -> list[str]:
    """The threads of messages with these ids, or that name them."""
    return sorted(_threads_linked(connection, [storable(message_id) for message_id in message_ids[:MAX_LINKS]]))


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


def _links(envelope: Envelope) -> list[str]:
    """Each id once; untrusted input is bounded."""
    references = envelope.references
    if len(references) > MAX_LINKS - 2:
        references = (references[0], *references[-(MAX_LINKS - 3) :])
    ids = (envelope.message_id, envelope.in_reply_to, *references)
    return list(dict.fromkeys(storable(link) for link in ids if link))


def _threads_linked(connection: sqlite3.Connection, links: list[str]) -> set[str]:
    if not links:
        return set()
    sql = f"SELECT DISTINCT thread FROM thread_link WHERE message_id IN ({marks(links)})"  # noqa: S608
    return {thread for (thread,) in connection.execute(sql, links)}


def _merge(connection: sqlite3.Connection, gone: str, kept: str) -> None:
    connection.execute("UPDATE mail SET thread = ? WHERE thread = ?", (kept, gone))
    connection.execute("UPDATE thread_link SET thread = ? WHERE thread = ?", (kept, gone))
    connection.execute("UPDATE thread SET merged_into = ? WHERE id = ?", (kept, gone))


def _age(thread: str) -> tuple[int, str]:
    """Our own refs are increasing numbers; a provider's own come last, in any fixed order."""
    return (int(thread), "") if thread.isdecimal() else (1 << 63, thread)
