"""The state file: one SQLite database in WAL mode, open in several processes at once.

- Writers use `transaction`, which takes the write lock first, so that what was read inside it still holds at commit.
- A durable transaction is on disk when it returns, with everything committed before it. The others may be undone by
  a power cut (never by a crash), and are for what can be made again.
- SQLite's errors leave as `model.errors`, and a failed transaction leaves nothing behind.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from postroom.files import database_file
from postroom.model.errors import InternalError
from postroom.store.database_errors import translate
from postroom.store.schema import MIGRATIONS

BUSY_SECONDS = 5.0


class Database:
    """A pool of connections to one file. Any thread may use it, but only in the process that opened it."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._process = os.getpid()
        self._idle: list[sqlite3.Connection] = []
        self._writing = threading.Lock()  # our own threads queue here: SQLite's way of waiting is to sleep and retry
        self._closed = False
        database_file.make(path)
        database_file.close_to_others(path)
        self._prepare()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection for single SELECTs; each sees the newest committed state."""
        with self._borrowed() as connection:
            yield connection

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing, alone among writers of all processes."""
        with self._writing, self._borrowed() as connection:
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite has rolled back by itself after some failures
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        if self._closed or self._process != os.getpid():
            raise InternalError("The state store is closed, or was opened by another process. Open it again.")
        try:
            connection = self._idle.pop() if self._idle else self._connect()
            try:
                yield connection
            except sqlite3.Error:
                connection.close()
                raise
            except BaseException:
                self._give_back(connection)
                raise
            self._give_back(connection)
        except sqlite3.Error as error:
            raise translate(error, self.path.name) from error

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",  # a file that is gone is said, not made anew
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        return connection

    def _prepare(self) -> None:
        with self._borrowed() as connection:
            if _version(connection) == len(MIGRATIONS):
                return
            database_file.switch_to_wal(connection, self._busy_seconds)
        self._migrate()

    def _migrate(self) -> None:
        with self.transaction() as connection:
            version = _version(connection)
            if version > len(MIGRATIONS):
                raise InternalError(
                    f"The state file {self.path.name} was written by a newer Postroom. Upgrade Postroom to use it."
                )
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
