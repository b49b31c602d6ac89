"""What is indexed: a message's envelope, its visible words and its attachments' names."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.index.packing import compressed_bytes
from postroom.index.words import normal, storable
from postroom.model.by_fields import pickled_by_fields, with_fields
from postroom.model.message import Envelope
from postroom.model.quickly_built import quickly_built
from postroom.model.words import folded


@pickled_by_fields
@quickly_built
@dataclass(frozen=True, slots=True)
class Texts:
    """A message's words as the index stores them. Computing them needs no file: it may be done ahead, elsewhere. A body
    that is not packed yet is to be packed in the file (see `writing.pack_words`)."""

    subject: str
    body: str
    packed_body: bytes | None
    filenames: tuple[str, ...]


@pickled_by_fields
@quickly_built
@dataclass(frozen=True, slots=True)
class Entry:
    """`envelope.folders` name folders of this index. An empty `envelope.thread_ref` means: find its thread.

    If `texts` is given, `body` and `filenames` are ignored.
    """

    envelope: Envelope
    body: str = ""
    filenames: tuple[str, ...] = ()
    texts: Texts | None = None


def packed(words: str) -> bytes:
    return compressed_bytes(words.encode())


def texts_of(subject: str, body: str, filenames: tuple[str, ...], *, packs: bool = True) -> Texts:
    words = normal(body)
    return Texts(
        subject=normal(subject),
        body=words,
        packed_body=packed(words) if packs else None,
        filenames=tuple(folded(storable(name)) for name in filenames),
    )


def with_packed_body(texts: Texts) -> Texts:
    return with_fields(texts, packed_body=packed(texts.body))
