"""The words of earlier messages, to tell a copy of them from new text.

Runs of a few words are compared, so that different line breaks, marks and layout make no difference but one changed
word does. The work is linear in the texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from postroom.mime.limits import MAX_EARLIER, MAX_NAMES

_RUN: Final = 5  # words: fewer match by chance, more make a short quote of half a sentence look new
_UNBROKEN: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # written without spaces
_SIGNS: Final = "$%¢-¥₠-₿\u2600-\u28ff\U0001f000-\U0001faff"  # money and emoji carry meaning, other symbols are layout
# 1.500 is not 1,500, nor -5 the same as 5: within a number, and some before it where that is no end of a word, each of
# these is a letter of it, here a character that no text has. So are the marks of what is struck out.
_WITHIN, _ALSO_BEFORE = r"(?<=\d.)", r"(?<![A-Za-z].)"
_PLACES: Final = {**dict.fromkeys(".,:/*", _WITHIN), **dict.fromkeys("+-\u2212", _ALSO_BEFORE)}
_FIGURES: Final = [
    (sign, re.compile(rf"{re.escape(sign)}(?=\d){place}", re.ASCII), chr(letter))
    for letter, (sign, place) in enumerate(_PLACES.items(), 1)
]
_STRUCK: Final = "~~"
_WORD = re.compile(rf"[{_UNBROKEN}]|(?:[^\W_{_UNBROKEN}]|[\x01-\x08])+|[{_SIGNS}\x0e]")
_ASCII_SIGNS: Final = "$%\x0e"  # those of them that are ASCII
_SPREAD: Final = bytes(
    [
        ord(chr(n).lower()) if n < 128 and (chr(n).isalnum() or chr(n) in _ASCII_SIGNS or 1 <= n <= 8) else ord(" ")
        for n in range(256)
    ]
)
# Outlook puts it after addresses it quotes. Every other link is compared: a different target is a different text.
_MAILTO = re.compile(r"[<(]mailto:[^<>()\s]*[>)]", re.IGNORECASE)
_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
# Hundreds of accents on one letter: sorting them takes the square of their number.
_PILE = re.compile("(?:[^\\w\\s\x00-\x7f]|[\uff9e\uff9f]){32}")
_BREAK: Final = "\n"  # not a word: no run continues from one message into another
_SPACE: Final = " "


def words_of(text: str) -> list[str]:
    text = _normal(text)
    if "mailto:" in text:
        text = _MAILTO.sub(" ", text)
    text = _with_figures(text)
    return _ascii_words(text) if text.isascii() else _WORD.findall(text.casefold())


def _with_figures(text: str) -> str:
    for sign, pattern, letter in _FIGURES:
        if sign in text:
            text = pattern.sub(letter, text)
    return text.replace(_STRUCK, "\x0e")


def _ascii_words(text: str) -> list[str]:
    """What `_WORD` finds, in a third of the time."""
    spread = text.encode("ascii").translate(_SPREAD).decode("ascii")
    for sign in _ASCII_SIGNS:
        if sign in spread:
            spread = spread.replace(sign, f" {sign} ")
    return spread.split()


def _normal(text: str) -> str:
    """The result may be many times as long: some single characters stand for whole phrases."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _PILE.sub(r"\g<0> ", text))


class Earlier:
    """What a thread said before a message. Without texts, nothing is a copy. `names` are the words of the names and
    addresses of its participants; empty if they are not known."""

    def __init__(self, texts: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self.names: set[str] = set()
        self._said = _SPACE  # all words, with a space before and after each: no word contains one
        self._runs: dict[int, set[int]] = {}  # by their length
        self._room = MAX_EARLIER
        for text in texts:
            self.add(text)
        self.add("", names)

    def __getstate__(self) -> tuple[set[str], str, int]:
        """For a worker: hashes of one process are meaningless in another."""
        return self.names, self._said, self._room

    def __setstate__(self, state: tuple[set[str], str, int]) -> None:
        self.names, self._said, self._room = state
        self._runs = {}

    @property
    def is_empty(self) -> bool:
        return self._said.isspace()

    def add(self, text: str, names: Iterable[str] = ()) -> None:
        """Markdown is stored with and without its link targets: a plain quote of it has only their words."""
        words_of_names = (word for name in names for word in words_of(name[:1_000]))
        self.names.update(islice(words_of_names, MAX_NAMES - len(self.names)))
        text = _normal(text[: self._room])[: self._room]
        self._room -= len(text)
        words = [*words_of(text), _BREAK]
        if "](" in text:
            words += [*words_of(_TARGET.sub("]", text)), _BREAK]
        self._said += _SPACE.join([*words, ""])
        for length, runs in self._runs.items():
            runs.update(_runs(words, length))

    def copied(self, lines: Sequence[Sequence[str]]) -> list[bool]:
        """For each line (its words) whether all of it is in earlier messages; one without words is not a copy."""
        stream = [word for line in lines for word in line]
        known = self._known(stream)
        result, start = [], 0
        for line in lines:
            result.append(bool(line) and all(known[start : start + len(line)]))
            start += len(line)
        return result

    def _known(self, stream: Sequence[str]) -> bytearray:
        """A word is known if some run that contains it is. A few words form one run. Most quote all of a message, whose
        runs are all known then."""
        length = min(_RUN, len(stream))
        if self._says(stream):
            return bytearray(b"\1" * len(stream))
        known = bytearray(len(stream))
        if not length or self.is_empty:
            return known
        runs, whole = self._runs_of(length), b"\1" * length
        for start, run in enumerate(_runs(stream, length)):
            if run in runs:
                known[start : start + length] = whole
        return known

    def _says(self, stream: Sequence[str]) -> bool:
        """Whether these are neighbours somewhere, in this order."""
        return _SPACE.join(["", *stream, ""]) in self._said

    def _runs_of(self, length: int) -> set[int]:
        if length not in self._runs:
            self._runs[length] = set(_runs(self._said.split(_SPACE)[1:-1], length))
        return self._runs[length]


def _runs(words: Sequence[str], length: int) -> Iterable[int]:
    return map(hash, zip(*(words[offset:] for offset in range(length)), strict=False))
