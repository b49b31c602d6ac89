"""Rows in columns, as wide as their widest cell."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from postroom.mime.visible import guarded


def lines(rows: Iterable[Sequence[str]], *, widest: int = 40) -> list[str]:
    """The last column is not cut; the others are cut at `widest` and padded. No cell can steer the terminal."""
    safe = [list(map(guarded, row)) for row in rows]
    cut = [[*(_shorten(cell, widest) for cell in row[:-1]), row[-1]] for row in safe]
    widths = [max((_width(row[column]) for row in cut), default=0) for column in range(len(cut[0]) - 1 if cut else 0)]
    return ["  ".join([*map(_pad, row[:-1], widths), row[-1]]).rstrip() for row in cut]


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _shorten(cell: str, widest: int) -> str:
    if _width(cell) <= widest:
        return cell
    while _width(cell) > widest - 1:
        cell = cell[:-1]
    return cell + "…"


def _width(text: str) -> int:
    """Terminal cells: East Asian wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
