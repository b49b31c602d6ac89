"""A mailbox file: its tables are migrated when it is opened, and only in a file of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from postroom.files import database_file
from postroom.index.schema import APPLICATION_ID, Schema, Step
from postroom.model.errors import PermissionDenied, ProviderError
from postroom.sqlite import database as sqlite_database
from postroom.sqlite.database import WAIT_FOR_LOCK, user_version
from postroom.sqlite.errors import FileKind, unusable

CACHE_KIB: Final = 16 * 1024
_WHILE_MIGRATED: Final = 300.0  # seconds: another process that is at it needs some for a large mailbox
MAILBOX_FILE: Final = FileKind("mailbox file", ProviderError, "Ask the operator to restore it from a backup.")


class Database(sqlite_database.Database):
    """`read_only` opens what exists and refuses to write; otherwise a missing file is created, private to its owner."""

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        read_only: bool = False,
        wait_for_lock: float = WAIT_FOR_LOCK,
        kind: FileKind = MAILBOX_FILE,
    ) -> None:
        super().__init__(path, kind, wait_for_lock=wait_for_lock, queue_seconds=wait_for_lock)
        self.read_only = read_only
        self._schema = schema
        self._closed = True
        self._opening = False

    def open(self) -> None:
        """Create or migrate the file. Every other method may be called only after this."""
        self._make_file()
        self._closed, self._opening = False, True
        waits = self.wait_for_lock
        try:
            with self.snapshot() as connection:  # a single snapshot: another process may be creating the tables
                version = self._checked_version(connection)
            if version < self._schema.version:
                self.wait_for_lock = max(waits, _WHILE_MIGRATED) if version else waits
                self.switch_to_wal()
                self._migrate()
        finally:
            self.close()  # nothing that was just read is relied on later
            self._opening, self.wait_for_lock = False, waits
        self._closed = False

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        if self.read_only and not self._opening:
            raise PermissionDenied(
                "Postroom is in read-only mode: nothing in this mailbox can be changed.", reason="read_only"
            )
        with super().transaction(durable=durable) as connection:
            yield connection

    def connect(self, *, waits: bool = True) -> sqlite3.Connection:
        connection = super().connect(waits=waits)
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("PRAGMA temp_store = MEMORY")
        if self.read_only and not self._opening:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _make_file(self) -> None:
        if self.read_only:
            return
        try:
            database_file.make(self.path)
        except OSError as error:
            what, remedy = f"cannot be created or written ({error.strerror})", "Ask the operator to check its folder."
            raise unusable(self.path, self.kind, what, remedy) from error

    def _checked_version(self, connection: sqlite3.Connection) -> int:
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if owner != APPLICATION_ID and (tables or self.read_only):
            raise unusable(self.path, self.kind, "is not a Postroom mailbox", "Give the account another path.")
        version = user_version(connection)
        if version > self._schema.version:
            raise unusable(self.path, self.kind, "was written by a newer version of Postroom", "Upgrade Postroom.")
        return version

    def _migrate(self) -> None:
        """Also when read-only: that concerns the mail in it, and an older file could not be read at all."""
        with self.transaction() as connection:  # two processes may start together: the second finds the work done
            for step in self._schema.steps[user_version(connection) :]:
                carry_out(connection, step)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {self._schema.version}")


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
