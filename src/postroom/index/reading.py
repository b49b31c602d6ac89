"""Messages read for an index, several at once: one step for all of them, then the next.

The code and the tables of a step are larger than a processor's nearest caches. Message by message they would be loaded
again for each, which makes reading a sixth slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.index.entry import Texts, texts_of
from postroom.mime import guarded, render
from postroom.mime.read import parse
from postroom.mime.read.parse import Parsed
from postroom.model.quickly_built import quickly_built


@quickly_built
@dataclass(frozen=True, slots=True)
class ReadMail:
    parsed: Parsed
    snippet: str
    texts: Texts


def read_all(raws: Sequence[bytes], *, packs: bool = True) -> list[ReadMail]:
    """In order, with their words packed if `packs`. Raises if one of them cannot be read."""
    parsed = [parse.parse(raw) for raw in raws]
    words = [render.words_of(one.body) for one in parsed]
    snippets = [render.first_words_of(one, mail) for one, mail in zip(words, parsed, strict=True)]
    texts = [words_as_texts(mail, render.all_words(one), packs=packs) for one, mail in zip(words, parsed, strict=True)]
    return list(map(ReadMail, parsed, snippets, texts))


def read_guarded(raw: bytes) -> ReadMail:
    """One message, by a process that must survive it: a large one is read by another, which can be stopped."""
    parsed = guarded.parse(raw)
    snippet, words = guarded.snippet_and_words(parsed)
    return ReadMail(parsed, snippet, words_as_texts(parsed, words))


def words_as_texts(parsed: Parsed, words: str, *, packs: bool = True) -> Texts:
    return texts_of(parsed.subject, words, tuple(part.filename for part in parsed.attachments), packs=packs)
