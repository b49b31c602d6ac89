"""One SQLite file: readers that never wait, one writer at a time, every failure said in plain words.

Connections wander between worker threads, so callers may come from any thread. No memory mapping: a file that shrinks
under a mapping ends the whole process.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postroom.files import database_file
from postroom.index.failures import explained, locked, unusable
from postroom.index.schema import APPLICATION_ID, Schema, Step
from postroom.model.errors import PermissionDenied, ProviderError, ProviderUnavailable

WAIT_FOR_LOCK = 5.0  # seconds
CACHE_KIB = 16 * 1024


class Database:
    """`read_only` opens what exists and refuses to write; otherwise a missing file is made, for its owner's eyes."""

    def __init__(
        self, path: Path, schema: Schema, *, read_only: bool = False, wait_for_lock: float = WAIT_FOR_LOCK
    ) -> None:
        self.path = path
        self.read_only = read_only
        self._schema = schema
        self._wait = wait_for_lock
        self._writer: sqlite3.Connection | None = None
        self._writing = threading.Lock()
        self._readers: list[sqlite3.Connection] = []
        self._is_open = False

    def open(self) -> None:
        """Make or update the file. Every other method may be called only after this."""
        with explained(self.path):
            self._make_file()
            connection = self._connect()
            try:
                self._check_owner(connection)
                if not self.read_only:
                    self._migrate(connection)
            finally:
                connection.close()
        self._is_open = True

    def close(self) -> None:
        self._is_open = False
        connections, self._readers = self._readers, []
        with self._writing:
            if self._writer is not None:
                connections.append(self._writer)
                self._writer = None
        for connection in connections:
            connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot: all that is read inside belongs together."""
        with explained(self.path):
            connection = self._reader()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.rollback()
                self._take_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on disk when this ends, or none of it."""
        if self.read_only:
            raise PermissionDenied(
                "Postroom runs in read-only mode: nothing in this mailbox can be changed.", reason="read_only"
            )
        if not self._writing.acquire(timeout=self._wait):
            raise locked(self.path)
        try:
            with explained(self.path):
                yield from self._transaction()
        finally:
            self._writing.release()

    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if self._writer is None:
            self._check_open()
            self._writer = self._connect()
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield self._writer
            self._writer.execute("COMMIT")
        except BaseException:
            self._writer.rollback()
            raise

    def _reader(self) -> sqlite3.Connection:
        self._check_open()
        try:
            return self._readers.pop()
        except IndexError:
            return self._connect()

    def _take_back(self, connection: sqlite3.Connection) -> None:
        if self._is_open:
            self._readers.append(connection)
        else:
            connection.close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise ProviderUnavailable("This mailbox is closed. Connect again.")

    def _make_file(self) -> None:
        if self.read_only:
            database_file.in_use(self.path)
            return
        try:
            database_file.make(self.path)
        except OSError as error:
            raise unusable(
                self.path, f"cannot be made or written ({error.strerror})", "Ask the operator to check its folder."
            ) from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._wait,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA synchronous = FULL")  # what was accepted survives a power cut
        if self.read_only:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _check_owner(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")  # one look: another process may be making the tables
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.rollback()
        if owner != APPLICATION_ID and (tables or self.read_only):
            raise unusable(self.path, "is no Postroom mailbox", "Give the account another path.")
        if version > self._schema.version:
            raise ProviderError(f"The mailbox file {self.path.name} was written by a newer Postroom. Upgrade Postroom.")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == self._schema.version:
            return
        database_file.switch_to_wal(connection, self._wait)
        connection.execute("BEGIN IMMEDIATE")  # two processes may start at once: the second finds the work done
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for step in self._schema.steps[version:]:
                carry_out(connection, step)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {self._schema.version}")
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise


def carry_out(connection: sqlite3.Connection, step: Step) -> None:
    if callable(step):
        step(connection)
        return
    for statement in statements(step):
        connection.execute(statement)


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would commit the transaction it runs in."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
