"""What SQLite complains about, in words that say what to do. Nothing is lost in any of these: writes are undone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postroom.model.errors import PermissionDenied, PostroomError, ProviderError, ProviderUnavailable

RETRY_AFTER = 5.0


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns SQLite's errors about the file at `path` into the model's; anything else is a fault of ours and stays."""
    try:
        yield
    except sqlite3.Error as error:
        meant = explain(error, path)
        if meant is None:
            raise
        raise meant from error


def locked(path: Path) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"The mailbox file {path.name} is locked by another program. Nothing was changed; try again in a moment.",
        details={"file": str(path)},
        retry_after=RETRY_AFTER,
    )


def unusable(path: Path, what: str, remedy: str) -> ProviderError:
    return ProviderError(f"The mailbox file {path.name} {what}. {remedy}", details={"file": str(path)})


def explain(error: sqlite3.Error, path: Path) -> PostroomError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    match code & 0xFF:  # the primary code; the rest is detail
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return locked(path)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return unusable(path, "is damaged or no mailbox", "Ask the operator to restore it from a backup.")
        case sqlite3.SQLITE_FULL:
            return unusable(path, "cannot grow: the disk is full", "Nothing was changed; free space and try again.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return PermissionDenied(
                f"The mailbox file {path.name} may only be read. Ask the operator for write permission.",
                details={"file": str(path)},
            )
        case sqlite3.SQLITE_CANTOPEN:
            return unusable(path, "cannot be opened", "Ask the operator to check the path and its permissions.")
        case sqlite3.SQLITE_IOERR:
            return unusable(path, "cannot be read or written", "Nothing was changed; check the disk and try again.")
    return None
