"""The connections to one SQLite file, in WAL mode: readers never wait, writers take turns.

Connections move between worker threads, so callers may be on any thread, but only in the process that opened the file.
No memory mapping: a file that shrinks under a mapping crashes the whole process. SQLite's errors are raised as
`model.errors`, and a failed transaction leaves nothing behind.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from postroom.files import database_file
from postroom.model.errors import PostroomError
from postroom.sqlite.errors import FileKind, locked, translate, unusable

WAIT_FOR_LOCK: Final = 5.0  # seconds
_FOR_EVER: Final = -1.0  # as in threading.Lock

T = TypeVar("T")


class _Connection(sqlite3.Connection):
    """`known` is what was read of the file at its `version`; None for a connection that writes, as the version is told
    to change by the others only. `waits` for a file that is locked."""

    version = -1
    waits = True
    known: dict[Callable[..., Any], Any] | None = None


def remembered(connection: sqlite3.Connection, read: Callable[[sqlite3.Connection], T]) -> T:
    """What `read` finds in the file, read again only after somebody wrote to it. Outside of a snapshot, and by a
    connection that writes, it is read each time."""
    if not isinstance(connection, _Connection) or connection.known is None or not connection.in_transaction:
        return read(connection)
    if read not in connection.known:
        connection.known[read] = read(connection)
    found: T = connection.known[read]
    return found


def _forget_what_changed(connection: sqlite3.Connection) -> None:
    """To ask for the version begins the snapshot, so that nobody writes between the two."""
    version = _version(connection)
    if isinstance(connection, _Connection) and version != connection.version:
        connection.version, connection.known = version, {}


def _is_unchanged(connection: _Connection) -> bool:
    return _version(connection) == connection.version


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)


class Database:
    """`queue_seconds` is how long a writer waits for the writers of its own process."""

    def __init__(
        self, path: Path, kind: FileKind, *, wait_for_lock: float = WAIT_FOR_LOCK, queue_seconds: float = _FOR_EVER
    ) -> None:
        self.path = path
        self.kind = kind
        self.wait_for_lock = wait_for_lock
        self._queue_seconds = queue_seconds
        self._process = os.getpid()
        self._idle: list[sqlite3.Connection] = []  # for reading; separate, so that a failed write closes none of them
        self._writer: sqlite3.Connection | None = None
        self._writing = threading.Lock()  # our own threads queue here: SQLite waits by sleeping and retrying
        self._closed = False
        self._inode = 0  # of the file that the connections are to
        database_file.in_use(path)

    def read(self, *, waits: bool = True) -> AbstractContextManager[sqlite3.Connection]:
        """A connection for single SELECTs; each sees the newest committed state. `waits` as for a snapshot."""
        return _Reading(self, waits=waits, is_snapshot=False)

    def snapshot(self, *, waits: bool = True) -> AbstractContextManager[sqlite3.Connection]:
        """Everything read inside is from the same point in time. Readers are locked out in rare moments only, such as
        while a file is recovered; one that may not wait for their end then fails at once."""
        return _Reading(self, waits=waits, is_snapshot=True)

    def latest(self, read: Callable[[sqlite3.Connection], T], *, waits: bool = True) -> T:
        """What `read` finds in the file now. Until somebody writes to it that is `remembered`, and takes one statement
        instead of a snapshot."""
        with self.read(waits=waits) as connection:
            if isinstance(connection, _Connection) and connection.known and read in connection.known:
                found: T = connection.known[read]
                if _is_unchanged(connection):
                    return found
        with self.snapshot(waits=waits) as connection:
            return remembered(connection, read)

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing, alone among the writers of all processes.

        The write lock is taken first, so that what is read inside still holds at commit. A durable transaction is on
        disk when it returns, with everything committed before it. The others may be lost in a power cut (never in a
        crash), and are for what can be recreated.
        """
        with self._turn(), self._translated(), self._writing_connection() as connection:
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                self.check_in_place()
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
        if self._writing.acquire(blocking=False):  # otherwise the current writer closes it
            self._close_writer()
            self._inode = 0
            self._writing.release()

    def connect(self, *, waits: bool = True) -> sqlite3.Connection:
        """A new connection; subclasses set more options on it, for some of which the file is read."""
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",  # a missing file is reported, not created
            uri=True,
            timeout=self.wait_for_lock if waits else 0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=_Connection,
        )
        self._inode = self._inode or _inode(self.path)
        try:
            self.check_in_place()
        except PostroomError:
            connection.close()
            raise
        return connection

    def switch_to_wal(self) -> None:
        with self._turn(), self._translated(), self._writing_connection() as connection:
            database_file.switch_to_wal(connection, self.wait_for_lock)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=self._queue_seconds):
            raise locked(self.path, self.kind)
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def _writing_connection(self) -> Iterator[sqlite3.Connection]:
        self._check_open()
        if self._writer is None:
            self._writer = self.connect()
        try:
            yield self._writer
        except sqlite3.Error:
            self._close_writer()
            raise
        finally:
            if self._closed:
                self._close_writer()

    def _reader(self, *, waits: bool) -> sqlite3.Connection:
        with self._translated():
            connection = self.connect(waits=waits)
        if isinstance(connection, _Connection):
            connection.known, connection.waits = {}, waits
        return connection

    def borrow(self, *, waits: bool) -> sqlite3.Connection:
        """For one reader, until it gives the connection back or closes it."""
        self._check_open()
        return self._idle.pop() if self._idle else self._reader(waits=waits)

    def let_wait(self, connection: sqlite3.Connection, waits: bool) -> None:
        """It stays so until the next reader wants it otherwise: most readers of a file want the same."""
        if isinstance(connection, _Connection) and connection.waits is not waits:
            connection.execute(f"PRAGMA busy_timeout = {self.wait_for_lock * 1000 if waits else 0:.0f}")
            connection.waits = waits

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translate(error, self.path, self.kind) from error

    def _check_open(self) -> None:
        if self._closed or self._process != os.getpid():
            raise self.kind.closed(
                f"The {self.kind.noun} {self.path.name} is closed, or was opened by another process. Open it again."
            )

    def check_in_place(self) -> None:
        """A file that somebody put in the place of the open one (from a backup, say) is another's to write by now: what
        goes to the old one is lost, and what both know of is done twice."""
        if _inode(self.path) != self._inode:
            remedy = "Ask the operator to restart every Postroom that uses it."
            raise unusable(self.path, self.kind, "was replaced or removed while it was in use", remedy)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)


class _Reading:
    """One reader's use of a connection. A generator for each step of it would take longer than SQLite does."""

    __slots__ = ("_connection", "_database", "_is_snapshot", "_waits")

    def __init__(self, database: Database, *, waits: bool, is_snapshot: bool) -> None:
        self._database, self._waits, self._is_snapshot = database, waits, is_snapshot

    def __enter__(self) -> sqlite3.Connection:
        connection = self._connection = self._database.borrow(waits=self._waits)
        try:
            self._database.let_wait(connection, self._waits)
            if self._is_snapshot:
                connection.execute("BEGIN")
                _forget_what_changed(connection)
        except BaseException as error:
            self._end(error)
            raise
        return connection

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """A connection that failed is not used again."""
        connection, database = self._connection, self._database
        try:
            if isinstance(error, sqlite3.Error):
                raise error
            if self._is_snapshot and connection.in_transaction:
                connection.execute("ROLLBACK")  # its own method would have SQLite parse that each time
        except sqlite3.Error as failure:
            connection.close()
            raise translate(failure, database.path, database.kind) from failure
        database.give_back(connection)


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116 (at every transaction: pathlib takes longer)
    except OSError:
        return 0


def user_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
