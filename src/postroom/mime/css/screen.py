"""The screen that a message is judged on, and numbers of any size."""

from __future__ import annotations

from typing import Final

WIDTH: Final = 800  # pixels of the pane a message is shown in
HEIGHT: Final = 600
_LARGEST: Final = 1e9


def number(digits: str | float) -> float:
    """Numbers of any length, capped: nothing on a screen is larger, and infinity breaks arithmetic."""
    return max(-_LARGEST, min(_LARGEST, float(digits)))
