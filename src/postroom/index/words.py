"""What counts as a word in the full text: `model.words` with two additions.

Scripts written without spaces (Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer) are indexed letter by letter, and
a search for several of their letters is a search for them in sequence: any part of a sentence is found. Wide, narrow
and decomposed spellings are equal.
"""

from __future__ import annotations

import re
import unicodedata

from postroom.model.words import letters_and_words_in_line, words

MAX_CHARS = 256 * 1024  # of one text: the rest is not searchable

# Hundreds of accents on one letter: sorting them takes the square of their number.
_PILES = re.compile("(?:[^\\w\\s\x00-\x7f]|[\uff9e\uff9f]){33,}+")
_SHORTEST_PILE = 66  # bytes: 33 characters that are not ASCII
_ASCII = bytes(range(128))

# Private-use characters are our own tokens (see `state`): normalized message text contains none of them.
_OURS = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_OUR_LEADS = (b"\xee", b"\xef", b"\xf3", b"\xf4")  # the first bytes that they may have in UTF-8


def normal(text: str) -> str:
    """The text in the form given to the full text: the same for what is indexed and what is searched for."""
    text = text[:MAX_CHARS]
    if text.isascii():
        return text.replace("\0", " ")  # the full text splits it by the same rule
    data = text.encode("utf-8", "replace").replace(b"\0", b" ")  # no NUL, no lone surrogate: as `storable`
    others = data.translate(None, _ASCII)
    text = data.decode("utf-8")
    if len(others) >= _SHORTEST_PILE and _PILES.search(others.decode("utf-8")):  # a pile of the text is one of these
        text = _PILES.sub(lambda pile: pile[0][:32], text)
    text = unicodedata.normalize("NFKC", text)[:MAX_CHARS]  # one character may expand to eighteen
    is_ours = any(lead in others for lead in _OUR_LEADS)
    return letters_and_words_in_line(_OURS.sub(" ", text) if is_ours else text)


def storable(text: str) -> str:
    """Text that SQLite accepts: no NUL, no lone surrogate."""
    if "\0" in text:
        text = text.replace("\0", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def phrase(text: str) -> str:
    """These words in sequence as a full-text string; empty if there are none."""
    text = normal(text).replace('"', " ")
    return f'"{text}"' if words(text) else ""
