"""One name for each conversation, where the server has no ids for threads (IMAP).

There a message's `thread_ref` is the first id that its own headers name. That is the same for all messages of a
conversation only while every program repeats all References, so that some are shown under different threads although
the index has them in one. `names` gives all of them the `thread_ref` of the oldest message: the same where References
are complete, and one that the server understands too.

The refs in envelopes stay as they are: what was approved, and the key of a repeated send, depend on them, and must not
change because an older message turns up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from postroom.index.rows import chunks, marks
from postroom.index.words import storable
from postroom.model.by_fields import with_fields
from postroom.model.errors import NotFound
from postroom.model.message import Envelope
from postroom.providers.layers.layered import Call
from postroom.providers.protocol import Mailbox
from postroom.sqlite.database import remembered
from postroom.sync.answering.consulting import Consulting
from postroom.sync.answering.trust import Trust

Members = Callable[[sqlite3.Connection, str, Trust], list[Envelope]]

_FEW = 200  # refs that the event loop looks up itself
_REMEMBERED = 10_000
_UNDATED = datetime.max.replace(tzinfo=UTC)  # last in its thread


class Conversations:
    """`members` of a thread in the index."""

    def __init__(self, mailbox: Mailbox, consult: Consulting, members: Members) -> None:
        self._mailbox = mailbox
        self._consult = consult
        self._members = members

    async def names(self, thread_refs: Sequence[str]) -> Mapping[str, str]:
        """Of those that are known. However old the index is: which messages name each other does not change."""

        def look(connection: sqlite3.Connection, trust: Trust) -> dict[str, str]:
            trust.spare(len(thread_refs) <= _FEW)
            return names_of(connection, thread_refs)

        return await self._consult.last_resort(look) or {}

    def of_page(self, connection: sqlite3.Connection, found: Sequence[Envelope]) -> Mapping[str, str] | None:
        """`names` for a page that was found there: to look again takes longer. None for a long page."""
        return names_of(connection, [row.thread_ref for row in found]) if len(found) <= _FEW else None

    async def at_server(self, ask: Call, thread_ref: str) -> list[Envelope]:
        """The server's answer, and what of the conversation it does not find from there: where a message in between is
        gone, or each names only the one before it, the last ones are too many steps away."""
        known = await self._consult.last_resort(partial(self._refs, thread_ref)) or []
        try:
            found: list[Envelope] = await ask(thread_ref)
        except NotFound:
            if not known:
                raise
            found = []
        there = {row.ref for row in found}
        missing = [ref for ref in known if ref not in there]
        more = [row for row in await self._mailbox.envelopes(missing) if row is not None] if missing else []
        if not found and not more:
            raise NotFound("This thread no longer exists. List or search again.", reason="thread_gone")
        rows = [*found, *(with_fields(row, thread_ref=thread_ref) for row in more)]
        return sorted(rows, key=lambda row: row.date or _UNDATED) if more else rows

    def _refs(self, thread_ref: str, connection: sqlite3.Connection, trust: Trust) -> list[str]:
        return [row.ref for row in self._members(connection, thread_ref, trust)]


def names_of(connection: sqlite3.Connection, thread_refs: Sequence[str]) -> dict[str, str]:
    """A ref that no message in the index names is missing."""
    seen = remembered(connection, _none_yet)
    if len(seen) > _REMEMBERED:
        seen.clear()
    for chunk in chunks(dict.fromkeys(ref for ref in thread_refs if ref not in seen)):
        seen |= dict.fromkeys(chunk)
        seen |= _looked_up(connection, chunk)
    found = ((ref, seen.get(storable(ref))) for ref in thread_refs)
    return {ref: name for ref, name in found if name is not None}


def _none_yet(_connection: sqlite3.Connection) -> dict[str, str | None]:
    return {}


def _looked_up(connection: sqlite3.Connection, refs: Sequence[str]) -> dict[str, str]:
    rows = connection.execute(
        "SELECT thread_link.message_id, mail.mail_references, mail.in_reply_to, mail.message_id"  # noqa: S608
        " FROM thread_link JOIN mail ON mail.id = (SELECT min(id) FROM mail WHERE thread = thread_link.thread)"
        f" WHERE thread_link.message_id IN ({marks(refs)})",
        refs,
    )
    return {ref: references.partition("\n")[0] or parent or own for ref, references, parent, own in rows}
