"""What counts as a word in the full text: `model.words`, and two things more.

Scripts written without spaces (Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer) are indexed letter by letter, and
a search for several of their letters is a search for them in a row: any part of a sentence is found. Wide, narrow and
decomposed spellings are one.
"""

from __future__ import annotations

import re
import unicodedata

from postroom.model.words import spaced, words

MAX_CHARS = 256 * 1024  # of one text: what lies behind is not searchable

# Accents by the hundred on one letter: to put them in order takes the square of their number.
_PILES = re.compile("(?:[^\\w\\s\x00-\x7f]|[\uff9e\uff9f]){33,}+")

# Private-use characters are the tokens of our own (see `state`): mail text has none of them once it is in normal form.
_OURS = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")


def normal(text: str) -> str:
    """The text as the full text is given it: what is indexed and what is searched for go the same way."""
    text = text[:MAX_CHARS]
    if text.isascii():
        return text.replace("\0", " ")  # the full text splits it by the same rule
    text = _PILES.sub(lambda pile: pile[0][:32], storable(text))
    text = unicodedata.normalize("NFKC", text)[:MAX_CHARS]  # one sign may stand for eighteen
    return " ".join(words(spaced(_OURS.sub(" ", text))))


def storable(text: str) -> str:
    """Text that SQLite takes: no NUL, no half of a surrogate pair."""
    if "\0" in text:
        text = text.replace("\0", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def phrase(text: str) -> str:
    """These words in a row as a full-text string; empty when there is no word in it."""
    text = normal(text).replace('"', " ")
    return f'"{text}"' if words(text) else ""
