"""Rows in columns below a header: at a terminal limited to its width, elsewhere as wide as their widest cell."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence

from postroom.mime.visible import guarded
from postroom.service.times import side_by_side

GAP = "  "
NARROWEST = 6  # cells; a column is not cut below it


def lines(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None, kept_whole: int = 1
) -> list[str]:
    """No rows give no lines. No cell can control the terminal. The first columns, ids and times, are never cut.

    `width` defaults to that of the terminal; a file or a pipe gets every cell in full.
    """
    safe = [list(map(guarded, row)) for row in rows]
    if not safe:
        return []
    table = [list(header), *safe]
    widths = [max(display_width(row[column]) for row in table) for column in range(len(header))]
    room = _terminal_width() if width is None else width
    if room is not None:
        widths = _squeezed(widths, room - len(GAP) * (len(widths) - 1), kept_whole)
    return [GAP.join(map(_fitted, row, widths)).rstrip() for row in table]


def time_column(name: str, moments: Sequence[str]) -> tuple[str, list[str]]:
    """Its header, with the offset if all share one, and its cells."""
    offset, cells = side_by_side(moments)
    return f"{name} ({offset})" if offset else name, cells


def display_width(text: str) -> int:
    """Terminal cells: East Asian wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _terminal_width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _squeezed(widths: list[int], room: int, kept_whole: int) -> list[int]:
    """The widest column shrinks first, until all fit or none can shrink further."""
    whole, others = widths[:kept_whole], widths[kept_whole:]
    while others and sum(whole) + sum(others) > room and max(others) > NARROWEST:
        others[others.index(max(others))] -= 1
    return [*whole, *others]


def _fitted(cell: str, width: int) -> str:
    if display_width(cell) > width:
        while display_width(cell) > width - 1:
            cell = cell[:-1]
        cell += "…"
    return cell + " " * (width - display_width(cell))
