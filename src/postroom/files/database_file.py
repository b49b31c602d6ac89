"""Files that SQLite works on. Nothing else in this process may open one, not even to inspect or create it.

SQLite guards its files with POSIX locks, and closing any descriptor on a file drops every lock that the process has on
it (https://www.sqlite.org/howtocorrupt.html, 2.2). Another process then believes it is alone, deletes a log that is
still being written, and mail is lost.
"""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from postroom.files import atomic_file
from postroom.files.folders import hand_over, make_private

_PARTS = ("", "-wal", "-shm", "-journal")
_LONGEST_PAUSE = 0.02  # seconds
_in_use: set[str] = set()


def make(path: Path) -> None:
    """Create an empty private file if there is none. Concurrent callers get the same file."""
    in_use(path)
    real = Path(os.path.realpath(path))
    if real.exists():
        return
    make_private(real.parent)
    try:
        os.mknod(real, stat.S_IFREG | 0o600)
        hand_over(real, real.parent)
    except FileExistsError:
        return
    except (OSError, AttributeError):  # not allowed everywhere; linking to a closed file works too
        atomic_file.create(real, b"")


def close_to_others(path: Path) -> None:
    """By path, since a descriptor would have to be closed again."""
    for part in _PARTS:
        with suppress(FileNotFoundError):
            Path(f"{path}{part}").chmod(0o600)


def in_use(path: Path) -> None:
    """Remember that SQLite uses this file in this process from now on."""
    _in_use.add(os.path.realpath(path))


def is_in_use(file: os.stat_result) -> bool:
    """Whether it is part of a database that this process has open, under any name."""
    return any(os.path.samestat(file, part) for part in _states())


def switch_to_wal(connection: sqlite3.Connection, seconds: float) -> None:
    """SQLite waits for its other locks but not for this one, so two processes that create a file would collide."""
    end = time.monotonic() + seconds
    while not _is_switched(connection, is_last_try=time.monotonic() > end):
        time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 (nothing secret)


def _is_switched(connection: sqlite3.Connection, *, is_last_try: bool) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    except sqlite3.OperationalError as error:
        if is_last_try or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def _states() -> Iterator[os.stat_result]:
    for path in tuple(_in_use):
        for part in _PARTS:
            with suppress(OSError):
                yield os.stat(path + part)  # noqa: PTH116 (asked for every file that is read: pathlib takes three times as long)
