"""How a text is split into words: one rule for queries, full-text indexes and matching a single message.

The rule is that of SQLite's FTS5 tokenizer ``unicode61 remove_diacritics 2``: letters, digits and private-use
characters make words, everything else separates them; case is folded one character to one, and accents are removed from
Latin letters (``é`` is ``e``, ``й`` stays ``й``). The two differ on ``ß``, which is ``ss`` here (replaced before that
tokenizer sees it), on characters newer than its tables (Unicode 6.1) and on a few rare letters and marks.
"""

from __future__ import annotations

import re
import unicodedata


def words(text: str) -> list[str]:
    """The folded words of a text, in order."""
    return _translated(text, _WORDS).split()


def letters_and_words(text: str) -> list[str]:
    """As `words(spaced(text))`, in one pass."""
    return _translated(text, _LETTERS_AND_WORDS).split()


def letters_and_words_in_line(text: str) -> str:
    """As `letters_and_words`, joined by single spaces."""
    return b" ".join(_as_bytes(text, _LETTERS_AND_WORDS).split()).decode("utf-8", "surrogatepass")


def folded(text: str) -> str:
    """The text with case and accents folded, separators kept: what a substring comparison uses."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _Table(dict[int, str]):
    """A translation table that is filled as characters are met; rare planes are not cached."""

    def __init__(self, keeps_separators: bool, spaces_letters: bool = False) -> None:
        super().__init__()
        self._keeps_separators = keeps_separators
        self._spaces_letters = spaces_letters

    def __missing__(self, code: int) -> str:
        result = _folded_char(chr(code), self._keeps_separators)
        if self._spaces_letters and _UNSPACED.match(chr(code)):
            result = f" {result} "
        if code < 0x10000:
            self[code] = result
        return result


def _folded_char(char: str, keeps_separators: bool) -> str:
    category = unicodedata.category(char)
    if char in "ßẞ":
        return "ss"  # as people write it if their keyboard has none
    if "\u0300" <= char <= "\u036f":
        return ""
    if category[0] not in "LN" and category != "Co":
        return char if keeps_separators else " "
    low = char.casefold() if len(char.casefold()) == 1 else char.lower()[0]
    base = unicodedata.normalize("NFD", low)[0]
    return base if base.isascii() else low


def _translated(text: str, table: _Table) -> str:
    return _as_bytes(text, table).decode("utf-8", "surrogatepass")


def _as_bytes(text: str, table: _Table) -> bytes:
    """For words. Character by character only what is not ASCII: the rest takes a fiftieth of the time."""
    if not text.isascii():
        others = set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))
        if len(others) <= _FEW:
            for char in others:  # what one becomes stays as it is: the order does not matter
                text = text.replace(char, table[ord(char)])
        else:
            text = _NOT_ASCII.sub(lambda run: run[0].translate(table), text)
    return text.encode("utf-8", "surrogatepass").translate(_ASCII_WORDS)


_FEW = 40  # different characters: replaced one after the other in less time than searched for
_ASCII = bytes(range(128))
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_WORDS, _FOLDED = _Table(keeps_separators=False), _Table(keeps_separators=True)
_LETTERS_AND_WORDS = _Table(keeps_separators=False, spaces_letters=True)
_ASCII_WORDS = bytes(ord(_WORDS[code]) for code in range(128)) + bytes(range(128, 256))


_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3105-\u318f"
    "\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff])"
)


def spaced(text: str) -> str:
    """Scripts written without spaces, letter by letter: consecutive letters are then consecutive words."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)
