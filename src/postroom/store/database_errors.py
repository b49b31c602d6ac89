"""What SQLite says, in the words of the house."""

from __future__ import annotations

import sqlite3

from postroom.model.errors import InternalError, PostroomError, ProviderUnavailable

_RETRY_SECONDS = 2.0


def translate(error: sqlite3.Error, name: str) -> PostroomError:
    """The model error for a SQLite error on the state file called `name`."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code; the rest is detail
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return ProviderUnavailable(
            f"The state file {name} is locked by another process. Nothing was changed; try again in a few seconds.",
            retry_after=_RETRY_SECONDS,
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return ProviderUnavailable(
            f"The state file {name} cannot be written: the disk is full or failing. Nothing was changed and nothing is "
            "lost; ask the operator to free space, then try again."
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return InternalError(
            f"The state file {name} is damaged. Ask the operator to stop Postroom, keep a copy of the file, and "
            "restore it from a backup or move it away: a new one is made at the next start."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return InternalError(
            f"The state file {name} cannot be opened for writing. Ask the operator to check the permissions of the "
            "file and its folder."
        )
    return InternalError(f"The state file {name} could not be used. Ask the operator to run `postroom doctor`.")
