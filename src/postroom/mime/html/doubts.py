"""The mark of text that may be invisible to a reader, and pages of a text that never begin inside one."""

from __future__ import annotations

import re
from typing import Final

DOUBT_OPENS, DOUBT_CLOSES = "[hidden? ", "]"
_BRACKETS: Final = str.maketrans("[]", "()")
_LONGEST: Final = 300  # characters within one mark
_SEAM = re.compile(re.escape(DOUBT_CLOSES) + r"([^\S\n]*)" + re.escape(DOUBT_OPENS))
_LONG = re.compile(rf"{re.escape(DOUBT_OPENS)}([^\[\]\n]{{{_LONGEST}}}[^\[\]\n]++){re.escape(DOUBT_CLOSES)}")
_PIECE = re.compile(rf"(?:.{{1,{_LONGEST}}}(?!\S)|.{{{_LONGEST}}}|.+)[^\S\n]*+")


def in_doubt(words: str) -> str:
    """Marked, to their end: brackets of a stranger's could end the mark before that. Each line for itself, as
    others of them may be left out."""
    if "\n" not in words:
        return f"{DOUBT_OPENS}{words.translate(_BRACKETS)}{DOUBT_CLOSES}"
    return "\n".join(_marked_line(line) for line in words.split("\n"))


def _marked_line(line: str) -> str:
    bare = line.strip()
    return line.replace(bare, in_doubt(bare), 1) if any(map(str.isalnum, bare)) else line


def with_even_marks(text: str) -> str:
    """What follows one another in a line under one mark, and a long run under several."""
    if "[" not in text or DOUBT_OPENS not in text:  # a single letter is found at once
        return text
    return _LONG.sub(_in_pieces, _SEAM.sub(r"\1", text))


def _in_pieces(run: re.Match[str]) -> str:
    pieces = (found[0] for found in _PIECE.finditer(run[1]))
    return "".join(f"{in_doubt(piece.rstrip())}{piece[len(piece.rstrip()) :]}" for piece in pieces)


def page(text: str, offset: int, length: int) -> tuple[int, int]:
    """Where the page at this offset begins and ends: at the mark of its first words, if they have one."""
    start = text.rfind(DOUBT_OPENS, max(0, offset - _LONGEST - len(DOUBT_OPENS)), offset + len(DOUBT_OPENS) - 1)
    closed = text.find(DOUBT_CLOSES, start) if 0 <= start < offset else -1
    if closed < offset:
        return offset, offset + length
    return start, max(start + length, closed + len(DOUBT_CLOSES))
