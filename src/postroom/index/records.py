"""Messages as the tables of an index want them: all that needs no file, so that it can be done ahead, by another
process. What is left for the transaction is its numbers: key, thread, folders, labels and people."""

from __future__ import annotations

import json
from functools import lru_cache
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
_FEW, _SHORT = 4, 200  # people of one kind who are worth remembering together, and characters of them

Person = tuple[str, str]  # address and name


class _Group(NamedTuple):
    """People of one kind: senders, receivers and so on."""

    pairs: tuple[Person, ...]
    json: str
    part: str


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
    people = (envelope.sender,), envelope.to, envelope.cc, envelope.bcc, envelope.reply_to
    groups = [_group_of(one) if one else _NOBODY for one in people]
    return Record(
        envelope.ref,
        envelope.folders,
        envelope.thread_ref,
        None if envelope.date is None else envelope.date.timestamp(),
        links_of(envelope),
        _values(envelope, f"[{','.join([group.json for group in groups])}]"),
        (groups[0].pairs, groups[1].pairs, groups[2].pairs, groups[3].pairs),
        (groups[0].part, groups[1].part, groups[2].part),
        (*envelope.labels, FORWARDED) if envelope.forwarded else envelope.labels,
        entry.texts or texts_of(envelope.subject, entry.body, entry.filenames),
    )


def _group_of(people: tuple[Address, ...]) -> _Group:
    return _known_group(people) if _is_small(people) else _group(people)


def _is_small(people: tuple[Address, ...]) -> bool:
    return len(people) <= _FEW and sum([len(who.email) + len(who.name) for who in people]) <= _SHORT


def _group(people: tuple[Address, ...]) -> _Group:
    pairs = tuple([(who.email, who.name) for who in people])
    return _Group(pairs, _PEOPLE.encode(pairs), part_of(people))


_known_group = lru_cache(maxsize=4096)(_group)  # the same few recur
_NOBODY: Final = _group(())


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
