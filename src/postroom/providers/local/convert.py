"""A message's bytes as the index and the model see them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from postroom.index.entry import Entry, Texts
from postroom.index.rows import envelopes
from postroom.index.writing import gone
from postroom.model.by_fields import pickled_by_fields, with_fields
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Message
from postroom.model.query.tree import Flag
from postroom.providers.local import contents

if TYPE_CHECKING:
    from postroom.mime.read.parse import Parsed


# What is parsed in the thread that read it, in bytes: a change of threads costs more than most messages. Larger ones
# could keep other readers waiting, so the caller has them parsed elsewhere.
AT_ONCE: Final = 256 * 1024
Unopened = Callable[[], Message]
UnopenedAll = Callable[[], list[Message | None]]


@pickled_by_fields
@dataclass(frozen=True, slots=True)
class NewMail:
    """A message to be filed. `folder` is a name or a role, created where it is missing. A message is unread unless its
    flags say ``read``; `date` is when it arrived, used where the message has no date of its own."""

    raw: bytes
    folder: str = "INBOX"
    flags: Sequence[Flag] = ()
    labels: Sequence[str] = ()
    date: datetime | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message read and packed: all the work that needs no transaction. Its entry has no ref, folder or thread yet."""

    mail: NewMail
    packed: contents.Packed
    entry: Entry


def prepare(mail: NewMail) -> Prepared:
    """For one message; many are read by `reading_ahead`."""
    from postroom.index.reading import read_guarded

    one = read_guarded(mail.raw)
    return Prepared(mail, contents.pack(mail.raw), _entry(mail, one.parsed, one.snippet, one.texts))


def read_all(mails: Sequence[NewMail]) -> list[tuple[contents.Packed, Entry]]:
    from postroom.index import reading

    packed = [contents.pack(mail.raw) for mail in mails]
    found = reading.read_all([mail.raw for mail in mails])
    entries = [_entry(mail, one.parsed, one.snippet, one.texts) for mail, one in zip(mails, found, strict=True)]
    return list(zip(packed, entries, strict=True))


def read_headers(mail: NewMail) -> tuple[contents.Packed, Entry]:
    """A message whose body cannot be read is found by its headers, and its bytes are kept."""
    from postroom.index.reading import words_as_texts
    from postroom.mime.read import parse

    parsed = parse.parse_headers(mail.raw)
    return contents.pack(mail.raw), _entry(mail, parsed, "", words_as_texts(parsed, ""))


def _entry(mail: NewMail, parsed: Parsed, snippet: str, texts: Texts) -> Entry:
    draft = "draft" in mail.flags
    envelope = Envelope(
        ref="",
        thread_ref="",
        folder="",
        sender=parsed.sender,
        to=parsed.to,
        cc=parsed.cc,
        bcc=parsed.bcc,
        reply_to=parsed.reply_to,
        subject=parsed.subject,
        date=parsed.date or mail.date or datetime.now(UTC).replace(microsecond=0),
        snippet=snippet,
        unread="read" not in mail.flags and not draft,
        starred="starred" in mail.flags,
        answered="answered" in mail.flags,
        forwarded="forwarded" in mail.flags,
        draft=draft,
        has_attachments=any(not attachment.inline for attachment in parsed.attachments),
        labels=tuple(mail.labels),
        size=len(mail.raw),
        message_id=parsed.message_id,
        in_reply_to=parsed.in_reply_to,
        references=parsed.references,
    )
    return Entry(envelope, texts=texts)


def filed(prepared: Prepared, ref: str, folder: Folder, *, thread_ref: str = "") -> Entry:
    """The entry with its ref and its folder. A message filed in Drafts is a draft."""
    entry = prepared.entry
    draft = entry.envelope.draft or folder.role is Role.DRAFTS
    envelope = with_fields(
        entry.envelope,
        ref=ref,
        thread_ref=thread_ref,
        folder=folder.name,
        draft=draft,
        unread=entry.envelope.unread and not draft,
    )
    return with_fields(entry, envelope=envelope)


def fetched(connection: sqlite3.Connection, ref: str) -> Message | Unopened:
    raw = contents.content(connection, ref)
    envelope = envelope_of(connection, ref)
    return opened(envelope, raw) if len(raw) <= AT_ONCE else partial(opened, envelope, raw)


def fetched_all(connection: sqlite3.Connection, refs: Sequence[str]) -> list[Message | None] | UnopenedAll:
    found = found_all(connection, refs)
    is_little = sum(len(raw) for _, raw in found.values()) <= AT_ONCE
    return opened_all(refs, found) if is_little else partial(opened_all, refs, found)


def found_all(connection: sqlite3.Connection, refs: Sequence[str]) -> dict[str, tuple[Envelope, bytes]]:
    """By ref; messages that are gone are absent."""
    raws = contents.contents(connection, refs)
    return {row.ref: (row, raws[row.ref]) for row in envelopes(connection, refs) if row is not None}


def opened_all(refs: Sequence[str], found: dict[str, tuple[Envelope, bytes]]) -> list[Message | None]:
    return [opened(*found[ref]) if ref in found else None for ref in refs]


def opened(envelope: Envelope, raw: bytes) -> Message:
    from postroom.mime import guarded

    parsed = guarded.parse(raw)
    return Message(envelope, parsed.body, parsed.attachments, parsed.headers, parsed.defects)


def open_part(connection: sqlite3.Connection, ref: str, part: str) -> bytes:
    from postroom.mime.read import parse

    return parse.extract_part(contents.content(connection, ref), part)


def envelope_of(connection: sqlite3.Connection, ref: str) -> Envelope:
    envelope = envelopes(connection, [ref])[0]
    if envelope is None:
        raise gone()
    return envelope
