"""Messages as the tables of an index want them: all that needs no file, so that it can be done ahead, by another
process. What is left for the transaction is its numbers: key, thread, folders, labels and people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from postroom.index.entry import Entry, Texts, texts_of
from postroom.index.labels import FORWARDED
from postroom.index.people import part_of
from postroom.index.threads import links_of
from postroom.index.words import storable
from postroom.model.address import Address
from postroom.model.message import Envelope

INSERT: Final = "INSERT INTO mail VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_PEOPLE = json.JSONEncoder(separators=(",", ":"))
_UNREAD_TO_ATTACHMENTS: Final = slice(0, 5)

Person = tuple[str, str]  # address and name


class Record(NamedTuple):
    """`values` are the columns of `mail` from `unread` on, `people` senders and receivers, those of Cc and Bcc, and
    `parts` what part of a name or an address is searched in. Without a `thread_ref` the thread is found by `links`."""

    ref: str
    folders: tuple[str, ...]
    thread_ref: str
    moment: float | None  # seconds since 1970; None: undated
    links: tuple[str, ...]
    values: tuple[Any, ...]
    people: tuple[tuple[Person, ...], ...]
    parts: tuple[str, str, str]
    labels: tuple[str, ...]  # with what is stored like one
    texts: Texts

    @property
    def marks(self) -> tuple[bool, tuple[bool, ...]]:
        """(has attachments, flags in the order of `state.FLAGS`)."""
        *flags, has_attachments = self.values[_UNREAD_TO_ATTACHMENTS]
        return has_attachments, tuple(flags)


def record_of(entry: Entry) -> Record:
    envelope = entry.envelope
    groups = tuple(map(_pairs, ((envelope.sender,), envelope.to, envelope.cc, envelope.bcc, envelope.reply_to)))
    return Record(
        envelope.ref,
        envelope.folders,
        envelope.thread_ref,
        None if envelope.date is None else envelope.date.timestamp(),
        links_of(envelope),
        _values(envelope, _PEOPLE.encode(groups)),
        groups[:4],
        (part_of((envelope.sender,)), part_of(envelope.to), part_of(envelope.cc)),
        (*envelope.labels, FORWARDED) if envelope.forwarded else envelope.labels,
        entry.texts or texts_of(envelope.subject, entry.body, entry.filenames),
    )


def _pairs(people: Sequence[Address]) -> tuple[Person, ...]:
    return tuple([(who.email, who.name) for who in people])


def _values(envelope: Envelope, people: str) -> tuple[Any, ...]:
    return (
        envelope.unread,
        envelope.starred,
        envelope.answered,
        envelope.draft,
        envelope.has_attachments,
        envelope.size,
        envelope.date.isoformat() if envelope.date else "",
        people,
        storable(envelope.subject),
        storable(envelope.snippet),
        storable(envelope.message_id),
        storable(envelope.in_reply_to),
        storable("\n".join(envelope.references)),
    )
