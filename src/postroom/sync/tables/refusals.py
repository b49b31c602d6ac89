"""Folders that a server does not let be read, while it answers for others: in use by another program, locked, damaged.

Such a folder stays as it is, and as old as it is: it is not confirmed. Every round tries again. What concerns the
connection or the account is no refusal, and ends the round.
"""

from __future__ import annotations

import sqlite3

from postroom.model.errors import NotFound, PermissionDenied, PostroomError


def is_of_one_folder(error: PostroomError) -> bool:
    """That is gone, may not be read, or is refused."""
    is_unreadable = not error.details.get("is_read", True)
    return isinstance(error, NotFound | PermissionDenied) or bool(error.refused_folder) or is_unreadable


def note(connection: sqlite3.Connection, number: int, error: PostroomError, now: float) -> None:
    """Not of a folder that is gone: the next round removes it. One that may not be read is no reason to trust what is
    here of it."""
    if not isinstance(error, NotFound):
        moment = None if isinstance(error, PermissionDenied) else now
        connection.execute(
            "UPDATE mirrored_folder SET refusal = ?, refused_at = ? WHERE number = ?", (error.message, moment, number)
        )


def forget(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("UPDATE mirrored_folder SET refusal = '', refused_at = NULL WHERE number = ?", (number,))


def exist(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM mirrored_folder WHERE refusal != '' AND NOT is_left_out AND NOT is_gone")
    return found.fetchone() is not None
