"""SQLite's errors as messages that say what to do. Nothing is lost in any of them: writes are rolled back."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from postroom.model.errors import PermissionDenied, PostroomError, ProviderUnavailable

_RETRY_SECONDS = 5.0
DAMAGED = "damaged"  # in the details of an error: the file must be replaced


@dataclass(frozen=True, slots=True)
class FileKind:
    """How messages describe a file: its name, the error to raise for a defect, how to replace it."""

    noun: str
    failure: type[PostroomError]
    if_damaged: str
    closed: type[PostroomError] = ProviderUnavailable  # to whoever uses it all the same


def translate(failure: sqlite3.Error, path: Path, kind: FileKind) -> PostroomError:
    code = getattr(failure, "sqlite_errorcode", 0) & 0xFF  # the primary code; the rest is detail
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return locked(path, kind)
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return ProviderUnavailable(
                f"The {kind.noun} {path.name} cannot be written: the disk is full or failing. Nothing was changed or "
                "lost; ask the operator to free space, then try again.",
                details={"file": str(path)},
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            error = unusable(path, kind, "is damaged or not a database", kind.if_damaged)
            error.details[DAMAGED] = True
            return error
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return PermissionDenied(
                f"The {kind.noun} {path.name} is read-only. Ask the operator to check the permissions of the file and "
                "its folder.",
                details={"file": str(path)},
            )
        case sqlite3.SQLITE_CANTOPEN:
            remedy = "Ask the operator to check its path and permissions."
            return unusable(path, kind, "cannot be opened", remedy)
    return unusable(path, kind, "could not be used", "Ask the operator to run `postroom doctor`.")


def locked(path: Path, kind: FileKind) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"The {kind.noun} {path.name} is locked by another process. Nothing was changed; try again in a few seconds.",
        details={"file": str(path)},
        retry_after=_RETRY_SECONDS,
    )


def unusable(path: Path, kind: FileKind, what: str, remedy: str) -> PostroomError:
    return kind.failure(f"The {kind.noun} {path.name} {what}. {remedy}", details={"file": str(path)})
