"""From a message of the API to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from postroom.mime.read.parse import Parsed
from postroom.model.errors import ProviderError
from postroom.model.message import Attachment, Envelope, Message
from postroom.providers.gmail.mail.labels import ANSWERED, FORWARDED, LabelSet
from postroom.providers.gmail.mail.rebuild import numbered, rebuilt, size_of
from postroom.providers.gmail.session.wire import (
    DRAFT,
    JSON,
    STARRED,
    UNREAD,
    number_of,
    object_of,
    text_of,
    texts_of,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A message with everything that a listing, a reader or a search needs of it."""

    envelope: Envelope
    labels: frozenset[str]
    parsed: Parsed
    attachments: tuple[Attachment, ...]

    @property
    def message(self) -> Message:
        return Message(self.envelope, self.parsed.body, self.attachments, self.parsed.headers, self.parsed.defects)


def read_rows(messages: Sequence[JSON], labels: LabelSet) -> list[Row]:
    """For a worker thread: reading the text of a page of messages takes a while."""
    return [read_row(message, labels) for message in messages]


def read_row(message: JSON, labels: LabelSet) -> Row:
    from postroom.mime import guarded
    from postroom.mime.quotes.folding import context_of

    payload = object_of(message.get("payload"))
    parsed = guarded.parse(rebuilt(payload))
    files = _sized(parsed.attachments, payload)
    snippet = guarded.snippet(parsed.body, context_of(parsed))
    ids = frozenset(texts_of(message.get("labelIds")))
    return Row(labelled(_envelope(message, parsed, files, snippet), ids, labels), ids, parsed, files)


def ref_of(message: JSON) -> str:
    ref = text_of(message.get("id"))
    if not ref:
        raise ProviderError("Gmail returned a message without an id. Try again later.")
    return ref


def _envelope(message: JSON, parsed: Parsed, files: Sequence[Attachment], snippet: str) -> Envelope:
    """All but what its labels say."""
    ref = ref_of(message)
    return Envelope(
        ref=ref,
        thread_ref=text_of(message.get("threadId")) or ref,
        folder="",
        sender=parsed.sender,
        to=parsed.to,
        cc=parsed.cc,
        bcc=parsed.bcc,
        reply_to=parsed.reply_to,
        subject=parsed.subject,
        date=parsed.date or _arrived(message),
        snippet=snippet,
        has_attachments=any(not file.inline for file in files),
        size=number_of(message.get("sizeEstimate")),
        message_id=parsed.message_id,
        in_reply_to=parsed.in_reply_to,
        references=parsed.references,
    )


def labelled(envelope: Envelope, ids: frozenset[str], labels: LabelSet) -> Envelope:
    """The envelope as these labels make it."""
    shown, *others = labels.places(sorted(ids))
    marks = labels.marks(ids)
    return replace(
        envelope,
        folder=shown,
        other_folders=tuple(others),
        labels=labels.tags(ids),
        unread=UNREAD in ids,
        starred=STARRED in ids,
        answered=ANSWERED in marks,
        forwarded=FORWARDED in marks,
        draft=DRAFT in ids,
    )


def _arrived(message: JSON) -> datetime | None:
    milliseconds = number_of(message.get("internalDate"))
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
    except (ValueError, OverflowError, OSError):
        return None


def _sized(files: Sequence[Attachment], payload: JSON) -> tuple[Attachment, ...]:
    sizes = {number: size_of(part) for number, part in numbered(payload)}
    return tuple(replace(file, size=sizes.get(file.part, file.size)) for file in files)
