"""Letters that a reader sees in the opposite order: what reads well to a program is gibberish to a person."""

from __future__ import annotations

import re
from typing import Final

from postroom.mime.html.doubts import in_doubt

_OVERRIDE: Final = "\u202e"  # until U+202C or the end of the line
_REVERSED = re.compile(f"{_OVERRIDE}([ \t\u200b]*+)([^{_OVERRIDE}\u202c\n\r\x85\u2028\u2029]++)")
_MANY: Final = 1_000  # runs: beyond that the whole text is doubtful
_LETTERS = re.compile("[A-Za-z]{2}")


def marked(text: str) -> str:
    """Plain text in which words written from left to right, but shown from right to left, are marked as doubtful."""
    runs = text.count(_OVERRIDE)
    if runs > _MANY:
        return in_doubt(text)
    return _REVERSED.sub(_mark, text) if runs else text


def _mark(run: re.Match[str]) -> str:
    return f"{run[1]}{in_doubt(run[2])}" if _LETTERS.search(run[2]) else run[0]
