"""Globs: ``*`` is any text, ``?`` any one character, a backslash takes the next character literally.

The time is bounded by the length of the text times the length of the longest piece between two stars, whatever the
pattern: each piece is searched from where the previous one ended and never from further left again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

ANY = ""  # a ``?`` in a piece; every other character stands for itself
Piece = tuple[str, ...]


def alike(text: str) -> str:
    """Case is ignored, accents are not."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).lower()


def glob_matches(pattern: str, text: str) -> bool:
    """Whether the whole text has the shape of the pattern, ignoring case."""
    first, *others = pieces(pattern)
    text = alike(text)
    if not others:
        return len(first) == len(text) and _stands_at(first, text, 0)
    *middle, last = others
    end = len(text) - len(last)
    if len(first) > end or not _stands_at(first, text, 0) or not _stands_at(last, text, end):
        return False
    at = len(first)
    for piece in middle:
        at = _find(piece, text, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


@lru_cache(maxsize=256)
def pieces(pattern: str) -> tuple[Piece, ...]:
    """The pattern cut at its stars, folded: always one more piece than stars."""
    found: list[list[str]] = [[]]
    characters = iter(alike(pattern))
    for char in characters:
        if char == "*":
            found.append([])
        elif char == "?":
            found[-1].append(ANY)
        else:
            found[-1].append(next(characters, char) if char == "\\" else char)
    return tuple(map(tuple, found))


def marked(pattern: str, mark: str) -> str:
    """The pattern as text, with `mark` in place of every wildcard."""
    return mark.join("".join(char or mark for char in piece) for piece in pieces(pattern))


def _find(piece: Piece, text: str, start: int, end: int) -> int:
    if ANY not in piece:
        return text.find("".join(piece), start, end)
    return next((at for at in range(start, end - len(piece) + 1) if _stands_at(piece, text, at)), -1)


def _stands_at(piece: Sequence[str], text: str, at: int) -> bool:
    return all(char in (ANY, text[at + offset]) for offset, char in enumerate(piece))
