"""Progress on standard error: a bar at a terminal, a plain percentage at intervals elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TextIO

BAR_WIDTH = 30
_BESIDE = " [] 100 %"
PLAIN_STEP = 10  # per cent


class Progress:
    """Call it with how much is done and how much there is; a total of 0 or None counts without a percentage."""

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._shown = -1

    def __call__(self, done: int, total: int | None = None) -> None:
        percent = min(100, done * 100 // total) if total else 0
        mark = done if not total else percent if self._is_terminal else percent // PLAIN_STEP * PLAIN_STEP
        if mark == self._shown:
            return
        self._shown = mark
        if self._is_terminal:
            self._draw(percent, done, total)
        elif total:
            print(f"{self._what}: {mark} %", file=self._stream, flush=True)

    def finish(self) -> None:
        if self._is_terminal and self._shown >= 0:
            print(file=self._stream, flush=True)

    def _draw(self, percent: int, done: int, total: int | None) -> None:
        width = self._width()
        filled = width * percent // 100
        bar = f"[{'#' * filled}{'.' * (width - filled)}] {percent:3} %" if total else f"{done}"
        print(f"\r{self._what} {bar}", end="", file=self._stream, flush=True)

    def _width(self) -> int:
        """What goes beyond a line is not overwritten by the next one."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            columns = 0
        room = (columns or 80) - len(self._what) - len(_BESIDE) - 1
        return max(0, min(BAR_WIDTH, room))
