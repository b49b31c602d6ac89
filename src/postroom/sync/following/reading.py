"""Messages as they came, read into what a mirror keeps. Few are read in this process, many in others: the work is
CPU-bound, and a message may crash or stall whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio.to_thread

from postroom.index.entry import Entry, Texts, texts_of, with_packed_body
from postroom.index.records import Record, record_of
from postroom.mime.processes.readers import Given, Readers, cores, look_rarely_for_garbage, read_or
from postroom.model.changes import BulkMail, Marks
from postroom.model.message import Envelope, Message
from postroom.sync.file import spool
from postroom.sync.file.contents import message_content, raw_content
from postroom.sync.file.spool import Place
from postroom.sync.tables.changing import Arrival
from postroom.sync.tables.identity import PENDING, of_bytes, of_message, of_server

if TYPE_CHECKING:
    from postroom.mime.read.parse import Parsed

_FEW = 1_000  # starting processes takes as long as reading these
_MOST_READERS = 4
_CHUNK = 125  # messages that one reader is given at a time: half of what a provider fetches at once


class Read(NamedTuple):
    """`spooled` is the sealed place of one whose bytes are kept in the spool."""

    record: Record
    identity: str
    spooled: bytes = b""

    def flat(self) -> Flat:
        *values, texts = self.record
        return self.identity, self.spooled, texts.subject, texts.body, texts.packed_body, texts.filenames, *values


Flat = tuple[Any, ...]  # of a `Read`, as it travels between processes: one object takes half as long as three
_TEXTS, _RECORD = slice(2, 6), slice(6, None)


class Spooled(NamedTuple):
    """A `BulkMail` whose bytes are in the spool. A tuple: in bulk these take a third of the time to be pickled."""

    number: int
    ref: str
    identity: str
    size: int
    arrived: datetime | None
    marks: Marks
    folder: str
    is_whole: bool
    path: Path
    place: Place

    def with_bytes(self, raw: bytes) -> BulkMail:
        return BulkMail(
            self.number,
            self.ref,
            self.identity,
            raw,
            self.size,
            self.arrived,
            self.marks,
            self.folder,
            self.is_whole,
        )


def _spooled(mail: BulkMail, path: Path, place: Place) -> Spooled:
    return Spooled(
        mail.number,
        mail.ref,
        mail.identity,
        mail.size,
        mail.arrived,
        mail.marks,
        mail.folder,
        mail.is_whole,
        path,
        place,
    )


def read_spooled(spooled: Sequence[Spooled]) -> list[Flat]:
    """The words are packed when the bytes are (see `packing`), and the bytes tell then who it is."""
    from postroom.index import reading

    mails = _taken(spooled)
    found = reading.read_all([mail.raw for mail in mails], packs=False)
    read = [
        _read(mail, one.parsed, one.snippet, one.texts, PENDING if mail.is_whole else "")
        for mail, one in zip(mails, found, strict=True)
    ]
    return [_sealed(*one).flat() for one in zip(spooled, mails, read, strict=True)]


def read_spooled_headers(spooled: Spooled) -> Flat:
    (mail,) = _taken([spooled])
    return _sealed(spooled, mail, read_headers(mail)).flat()


def _taken(spooled: Sequence[Spooled]) -> list[BulkMail]:
    raws = spool.taken(spooled[0].path, [one.place for one in spooled]) if spooled else []
    return [one.with_bytes(raw) for one, raw in zip(spooled, raws, strict=True)]


def _sealed(spooled: Spooled, mail: BulkMail, read: Read) -> Read:
    """What does not stay in the spool is not packed later either."""
    if mail.is_whole:
        return Read(read.record, read.identity, spool.sealed(spooled.place, mail.raw))
    return read._replace(record=read.record._replace(texts=with_packed_body(read.record.texts)))


def read_here(mails: Sequence[BulkMail]) -> list[Read]:
    """In this process, which must survive it."""
    from postroom.index.reading import read_guarded

    found = [read_guarded(mail.raw) for mail in mails]
    return [_read(mail, one.parsed, one.snippet, one.texts) for mail, one in zip(mails, found, strict=True)]


def read_headers(mail: BulkMail) -> Read:
    """A message whose body cannot be read is found by its headers."""
    from postroom.index.reading import words_as_texts
    from postroom.mime.read import parse

    parsed = parse.parse_headers(mail.raw)
    return _read(mail, parsed, "", words_as_texts(parsed, ""))


def _read(mail: BulkMail, parsed: Parsed, snippet: str, texts: Texts, pending: str = "") -> Read:
    return Read(record_of(_entry(mail, parsed, snippet, texts)), of_server(mail.identity) or pending or of_bytes(mail))


def _entry(mail: BulkMail, parsed: Parsed, snippet: str, texts: Texts) -> Entry:
    envelope = Envelope(
        ref=mail.ref,
        thread_ref="",  # found in the index by what the message names
        folder=mail.folder,
        sender=parsed.sender,
        to=parsed.to,
        cc=parsed.cc,
        bcc=parsed.bcc,
        reply_to=parsed.reply_to,
        subject=parsed.subject,
        date=parsed.date or mail.arrived,
        snippet=snippet,
        unread=mail.marks.unread,
        starred=mail.marks.starred,
        answered=mail.marks.answered,
        forwarded=mail.marks.forwarded,
        draft=mail.marks.draft,
        has_attachments=any(not attachment.inline for attachment in parsed.attachments),
        labels=mail.marks.labels,
        size=mail.size,
        message_id=parsed.message_id,
        in_reply_to=parsed.in_reply_to,
        references=parsed.references,
    )
    return Entry(envelope, texts=texts)


class Reading:
    """Start with `begin`, take the results in the same order with `results`. What other processes read is spooled."""

    def __init__(self, spool_path: Path) -> None:
        self._spool = spool_path
        self._readers: Readers[Spooled, Flat] | None = None
        self._begun = 0

    def rest(self) -> None:
        """No process is kept for the few messages that come later."""
        if self._readers is not None:
            self._readers.__exit__(None, None, None)
            self._readers = None
        self._begun = 0

    def get_ready(self, coming: int) -> None:
        """`coming`: how many there are, nearly. Where they are many, processes start: they need a while until they can
        read."""
        if self._are_many(coming):
            self._start()

    def begin(self, mails: Sequence[BulkMail], coming: int = 0) -> Begun:
        """`coming`: how many are known to come, these included."""
        are_many = self._are_many(max(coming, len(mails)))
        self._begun += len(mails)
        if are_many:
            self._start()
        if self._readers is None or not are_many:
            return Begun(mails)
        places = spool.append(self._spool, [mail.raw for mail in mails])
        spooled = [_spooled(mail, self._spool, place) for mail, place in zip(mails, places, strict=True)]
        chunks = [spooled[start : start + _CHUNK] for start in range(0, len(spooled), _CHUNK)]
        return Begun(given=[(chunk, self._readers.give(chunk)) for chunk in chunks])

    def _are_many(self, coming: int) -> bool:
        return self._begun + coming > _FEW

    def _start(self) -> None:
        if self._readers is None and cores() > 1:
            look_rarely_for_garbage()
            self._readers = Readers(read_spooled, read_spooled_headers, min(_MOST_READERS, cores()))

    async def results(self, begun: Begun, place: int) -> list[Arrival]:
        return await anyio.to_thread.run_sync(self._results, begun, place)

    def _results(self, begun: Begun, place: int) -> list[Arrival]:
        arrivals = [_arrived(mail, read_or(read_headers, read_here, mail), place) for mail in begun.mails]
        for chunk, given in begun.given:
            read = self._read_of(chunk, given)
            arrivals += [_from_spool(flat, place, one.number) for one, flat in zip(chunk, read, strict=True)]
        return arrivals

    def _read_of(self, chunk: list[Spooled], given: Given[Flat] | None) -> list[Flat]:
        assert self._readers is not None
        done = self._readers.results(given)  # None: a reader was lost, with these messages or with others
        return done if done is not None else [self._readers.read_alone(one) for one in chunk]


def _arrived(mail: BulkMail, read: Read, place: int) -> Arrival:
    content = raw_content(mail.raw) if mail.is_whole else None
    return Arrival(read.record, read.identity, place, mail.number, content)


def _from_spool(flat: Flat, place: int, number: int) -> Arrival:
    return Arrival(Record._make((*flat[_RECORD], Texts(*flat[_TEXTS]))), flat[0], place, number, spooled=flat[1])


@dataclass(frozen=True, slots=True)
class Begun:
    """Messages to be read here, and those that other processes were given."""

    mails: Sequence[BulkMail] = ()
    given: Sequence[tuple[list[Spooled], Given[Flat] | None]] = ()


def opened(message: Message) -> Arrival:
    """One that the provider has already read."""
    from postroom.mime import guarded

    envelope = message.envelope
    filenames = tuple(part.filename for part in message.attachments)
    entry = Entry(envelope, texts=texts_of(envelope.subject, guarded.search_text(message.body), filenames))
    return Arrival(record_of(entry), of_message(message), content=message_content(message))


def headers_only(envelope: Envelope) -> Record:
    """For a mirror without bodies."""
    return record_of(Entry(envelope, texts=texts_of(envelope.subject, "", ())))
