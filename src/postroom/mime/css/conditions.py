"""``(a) and (not (b))``, ``(a) or (b)``: the conditions of ``@media`` and ``@supports``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

_MAX_NESTED: Final = 8  # nested brackets
_WORD = re.compile(r"\(|\)|[^\s()]+")
Feature = Callable[[str], bool | None]


def holds(text: str, feature: Feature, depth: int = 0) -> bool | None:
    """None if that is unknown, or if it cannot be parsed. `feature` decides what is in innermost brackets, and
    functions with their name."""
    found: list[bool | None] = []
    joins, negated = set[str](), False
    for word in _pieces(text) if depth < _MAX_NESTED else ():
        if word in ("and", "or"):
            joins.add(word)
        elif word == "not":
            negated = True
        elif word.endswith(")"):
            value = _bracket(word, feature, depth)
            found.append(value if value is None else value is not negated)
            negated = False
        else:
            return None
    if not found or len(joins) > 1:
        return None
    decides = "or" in joins
    return decides if decides in found else None if None in found else not decides


def _bracket(word: str, feature: Feature, depth: int) -> bool | None:
    if not word.startswith("("):
        return feature(word)
    inner = word[1:-1].strip()
    return holds(inner, feature, depth + 1) if inner.startswith(("(", "not ", "not(", "selector(")) else feature(inner)


def _pieces(text: str) -> Iterator[str]:
    """Words, and bracketed parts as one, with the name of a function before them."""
    depth = start = 0
    for word in _WORD.finditer(text):
        if word[0] == "(":
            start = word.start() if depth == 0 and not _is_name(text, start, word.start()) else start
            depth += 1
        elif word[0] == ")":
            depth -= 1
            if depth == 0:
                yield text[start : word.end()]
        elif depth == 0:
            start = word.start()
            if not text.startswith("(", word.end()) or word[0] in ("not", "and", "or"):
                yield word[0]


def _is_name(text: str, start: int, end: int) -> bool:
    name = text[start:end]
    return name.isidentifier() and name not in ("not", "and", "or")
