"""Whose mailbox a mirror is of and how much of it is kept, and what a change of that means for what is there."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from postroom.settings.mailboxes import owner_of
from postroom.sync.file.status import MODE, OWNER, fact, note_fact

if TYPE_CHECKING:
    from postroom.settings.accounts import ServerAccount

IS_DUE = "is_due"  # a comparison of everything, where messages have no numbers (see `by_listing`)
_DAYS = "days"


@dataclass(frozen=True, slots=True)
class Limits:
    mode: Literal["full", "headers"] = "full"
    max_bytes: int = 25 * 2**20
    days: int = 0  # 0: of any age
    owner: str = ""  # see `owner_of`

    def oldest(self, now: float) -> datetime | None:
        return datetime.fromtimestamp(now, UTC) - timedelta(days=self.days) if self.days else None


def limits_of(settings: ServerAccount) -> Limits:
    mode: Literal["full", "headers"] = "headers" if settings.mirror == "headers" else "full"
    return Limits(mode, settings.mirror_max_mb * 2**20, settings.mirror_days, owner_of(settings))


def noted_owner(connection: sqlite3.Connection) -> str:
    """Of the mailbox that this is the mirror of."""
    return fact(connection, OWNER)


def noted_limits(connection: sqlite3.Connection) -> Limits:
    """What this file is filled by. Another process may do that by other settings than the reader's: they were changed
    since one of them began."""
    mode: Literal["full", "headers"] = "headers" if fact(connection, MODE) == "headers" else "full"
    return Limits(mode, days=int(fact(connection, _DAYS) or 0), owner=noted_owner(connection))


def is_of(connection: sqlite3.Connection, owner: str) -> bool:
    """Whether it is the mirror of this mailbox."""
    return noted_owner(connection) == owner


def apply_limits(connection: sqlite3.Connection, limits: Limits) -> bool:
    """False if the mirror must be started over. Where older messages are wanted now, the fill goes on."""
    mode, days = fact(connection, MODE), fact(connection, _DAYS)
    if mode and (mode != limits.mode or not is_of(connection, limits.owner)):
        return False
    if days != str(limits.days):
        if days:
            connection.execute("UPDATE mirrored_folder SET is_filled = 0 WHERE low > 0 AND as_of IS NOT NULL")
            note_fact(connection, IS_DUE, "1")
        note_fact(connection, MODE, limits.mode)
        note_fact(connection, _DAYS, str(limits.days))
        note_fact(connection, OWNER, limits.owner)
    return True
