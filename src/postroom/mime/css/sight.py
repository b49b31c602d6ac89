"""How certain it is that text is visible."""

from __future__ import annotations

from enum import IntEnum


class Sight(IntEnum):
    SEEN = 0
    DOUBTFUL = 1  # only a browser could tell: shown with a mark
    HIDDEN = 2


SEEN, DOUBTFUL, HIDDEN = Sight.SEEN, Sight.DOUBTFUL, Sight.HIDDEN
