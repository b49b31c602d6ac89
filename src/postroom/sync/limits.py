"""How much of a mailbox its mirror keeps, and what a change of that means for what is there."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from postroom.sync.status import fact, note_fact

IS_DUE = "is_due"  # a comparison of everything, where messages have no numbers (see `by_listing`)
_MODE, _DAYS = "mode", "days"


@dataclass(frozen=True, slots=True)
class Limits:
    mode: Literal["full", "headers"] = "full"
    max_bytes: int = 25 * 2**20
    days: int = 0  # 0: of any age

    def oldest(self, now: float) -> datetime | None:
        return datetime.fromtimestamp(now, UTC) - timedelta(days=self.days) if self.days else None


def apply_limits(connection: sqlite3.Connection, limits: Limits) -> bool:
    """False if the mirror must be started over. Where older messages are wanted now, the fill goes on."""
    mode, days = fact(connection, _MODE) or limits.mode, fact(connection, _DAYS)
    if mode != limits.mode:
        return False
    if days != str(limits.days):
        if days:
            connection.execute("UPDATE mirrored_folder SET is_filled = 0 WHERE low > 0 AND as_of IS NOT NULL")
            note_fact(connection, IS_DUE, "1")
        note_fact(connection, _MODE, limits.mode)
        note_fact(connection, _DAYS, str(limits.days))
    return True
