"""What is indexed: a message's envelope, its visible words and its attachments' names."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from postroom.index.words import normal, storable
from postroom.model.message import Envelope
from postroom.model.words import folded


@dataclass(frozen=True, slots=True)
class Texts:
    """A message's words as the index stores them. Computing them needs no file: it may be done ahead, elsewhere."""

    subject: str
    body: str
    packed_body: bytes
    filenames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """`envelope.folders` name folders of this index. An empty `envelope.thread_ref` means: find its thread.

    If `texts` is given, `body` and `filenames` are ignored.
    """

    envelope: Envelope
    body: str = ""
    filenames: tuple[str, ...] = ()
    texts: Texts | None = None


def texts_of(subject: str, body: str, filenames: tuple[str, ...]) -> Texts:
    words = normal(body)
    return Texts(
        subject=normal(subject),
        body=words,
        packed_body=zlib.compress(words.encode(), 1),
        filenames=tuple(folded(storable(name)) for name in filenames),
    )
