"""Messages as they came, read into what a mirror keeps. Few are read in this process, many in others: the work is
CPU-bound, and a message may crash or stall whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from postroom.index.entry import Entry, Texts, texts_of
from postroom.mime.processes.readers import Readers, cores, read_or
from postroom.model.by_fields import pickled_by_fields
from postroom.model.changes import BulkMail
from postroom.model.message import Envelope, Message
from postroom.sync.changing import Arrival
from postroom.sync.contents import Content, message_content, raw_content
from postroom.sync.identity import of_bytes, of_message, of_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postroom.mime.read.parse import Parsed

_FEW = 1_000  # starting processes takes as long as reading these
_MOST_READERS = 4
_CHUNK = 32  # messages that one reader is given at a time


@pickled_by_fields
@dataclass(frozen=True, slots=True)
class Read:
    entry: Entry
    content: Content | None
    identity: str


def read_all(mails: Sequence[BulkMail]) -> list[Read]:
    from postroom.index import reading

    kept = [_kept(mail) for mail in mails]
    identities = [_identity(mail) for mail in mails]
    found = reading.read_all([mail.raw for mail in mails])
    return [
        Read(_entry(mail, one.parsed, one.snippet, one.texts), content, identity)
        for mail, one, content, identity in zip(mails, found, kept, identities, strict=True)
    ]


def read_here(mails: Sequence[BulkMail]) -> list[Read]:
    """In this process, which must survive it: a large one is read by a process that can be stopped."""
    return list(map(_read_here, mails))


def _read_here(mail: BulkMail) -> Read:
    from postroom.index.reading import words_as_texts
    from postroom.mime import guarded
    from postroom.mime.quotes import folding

    parsed = guarded.parse(mail.raw)
    snippet = guarded.snippet(parsed.body, folding.context_of(parsed))
    texts = words_as_texts(parsed, guarded.search_text(parsed.body))
    return Read(_entry(mail, parsed, snippet, texts), _kept(mail), _identity(mail))


def read_headers(mail: BulkMail) -> Read:
    """A message whose body cannot be read is found by its headers."""
    from postroom.index.reading import words_as_texts
    from postroom.mime.read import parse

    parsed = parse.parse_headers(mail.raw)
    return Read(_entry(mail, parsed, "", words_as_texts(parsed, "")), _kept(mail), _identity(mail))


def _kept(mail: BulkMail) -> Content | None:
    return raw_content(mail.raw) if mail.is_whole else None


def _identity(mail: BulkMail) -> str:
    return of_server(mail.identity) or of_bytes(mail)


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
    """Start with `begin`, take the results in the same order with `results`."""

    def __init__(self) -> None:
        self._readers: Readers[BulkMail, Read] | None = None
        self._begun = 0

    def rest(self) -> None:
        """No process is kept for the few messages that come later."""
        if self._readers is not None:
            self._readers.__exit__(None, None, None)
            self._readers = None
        self._begun = 0

    def begin(self, mails: Sequence[BulkMail], coming: int = 0) -> Begun:
        """`coming`: how many are known to come, these included."""
        expected = self._begun + max(coming, len(mails))
        self._begun += len(mails)
        if self._readers is None and expected > _FEW and cores() > 1:
            self._readers = Readers(read_all, read_headers, min(_MOST_READERS, cores()))
        if self._readers is None:
            return Begun(mails, None)
        chunks = [list(mails[start : start + _CHUNK]) for start in range(0, len(mails), _CHUNK)]
        return Begun(mails, [(chunk, self._readers.give(chunk)) for chunk in chunks])

    async def results(self, begun: Begun, place: int) -> list[Arrival]:
        results = await anyio.to_thread.run_sync(self._results, begun)
        return [
            Arrival(read.entry, read.identity, place, mail.number, read.content)
            for mail, read in zip(begun.mails, results, strict=True)
        ]

    def _results(self, begun: Begun) -> list[Read]:
        readers = self._readers
        if begun.given is None or readers is None:
            return [read_or(read_headers, read_here, mail) for mail in begun.mails]
        results: list[Read] = []
        for chunk, given in begun.given:
            done = readers.results(given)  # None: a reader was lost, with these messages or with others
            results += done if done is not None else [readers.read_alone(mail) for mail in chunk]
        return results


@dataclass(frozen=True, slots=True)
class Begun:
    mails: Sequence[BulkMail]
    given: list[tuple[list[BulkMail], Iterator[list[Read]] | None]] | None


def opened(message: Message) -> Arrival:
    """One that the provider has already read."""
    from postroom.mime import guarded

    envelope = message.envelope
    filenames = tuple(part.filename for part in message.attachments)
    entry = Entry(envelope, texts=texts_of(envelope.subject, guarded.search_text(message.body), filenames))
    return Arrival(entry, of_message(message), content=message_content(message))


def headers_only(envelope: Envelope) -> Entry:
    """For a mirror without bodies."""
    return Entry(envelope, texts=texts_of(envelope.subject, "", ()))
