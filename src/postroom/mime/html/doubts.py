"""The mark of text that may be invisible to a reader, and pages of a text that never begin inside one."""

from __future__ import annotations

import re
from typing import Final

DOUBT_OPENS, DOUBT_CLOSES = "[hidden? ", "]"
_BRACKETS: Final = str.maketrans("[]", "()")
_LONGEST: Final = 300  # characters within one mark
_MARKED = re.compile(rf"{re.escape(DOUBT_OPENS)}[^\[\]]*{re.escape(DOUBT_CLOSES)}")
_SEAM = re.compile(re.escape(DOUBT_CLOSES) + r"([^\S\n]*)" + re.escape(DOUBT_OPENS))
_LONG = re.compile(rf"{re.escape(DOUBT_OPENS)}([^\[\]\n]{{{_LONGEST}}}[^\[\]\n]++){re.escape(DOUBT_CLOSES)}")
_PIECE = re.compile(rf"(\S(?:.{{0,{_LONGEST - 2}}}\S)?(?!\S)|\S{{{_LONGEST}}})")


def in_doubt(words: str) -> str:
    """Marked, to their end: brackets of a stranger's could end the mark before that. Each line for itself, as
    others of them may be left out."""
    if "\n" not in words:
        return f"{DOUBT_OPENS}{words.translate(_BRACKETS)}{DOUBT_CLOSES}"
    return "\n".join(_marked_line(line) for line in words.split("\n"))


def is_marked(words: str) -> bool:
    """Whether all of it is under marks already."""
    return not any(map(str.isalnum, _MARKED.sub("", words)))


def _marked_line(line: str) -> str:
    bare = line.strip()
    return line.replace(bare, in_doubt(bare), 1) if any(map(str.isalnum, bare)) else line


def with_even_marks(text: str) -> str:
    """What follows one another in a line under one mark, and a long run under several."""
    if "[" not in text or DOUBT_OPENS not in text:  # a single letter is found at once
        return text
    return _LONG.sub(_in_pieces, _SEAM.sub(r"\1", text))


def _in_pieces(run: re.Match[str]) -> str:
    pieces = _PIECE.split(run[1])
    pieces[1::2] = [f"{DOUBT_OPENS}{piece}{DOUBT_CLOSES}" for piece in pieces[1::2]]
    return "".join(pieces)


def page(text: str, offset: int, length: int) -> tuple[int, int]:
    """Where the page at this offset begins and ends: at the mark of its first words, if they have one. It has all that
    was asked for besides. A mark longer than ours are is a stranger's."""
    start = text.rfind(DOUBT_OPENS, max(0, offset - _LONGEST - len(DOUBT_OPENS)), offset + len(DOUBT_OPENS) - 1)
    end = start + len(DOUBT_OPENS) + _LONGEST + len(DOUBT_CLOSES)
    is_marked = start >= 0 and text.find(DOUBT_CLOSES, start, end) >= offset
    return (start if is_marked else offset), offset + length
