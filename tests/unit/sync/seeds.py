"""Which random histories are played: MIRROR_SEEDS of them from MIRROR_FIRST_SEED on; otherwise always the same few."""

from __future__ import annotations

import os

_FIRST = int(os.environ.get("MIRROR_FIRST_SEED", "0"))
SEEDS = range(_FIRST, _FIRST + int(os.environ.get("MIRROR_SEEDS", "2")))
