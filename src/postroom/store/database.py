"""The state file: made and brought up to date when it is opened, for its owner's eyes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from postroom.files import database_file
from postroom.model.errors import InternalError
from postroom.sqlite import database as sqlite_database
from postroom.sqlite.database import WAIT_FOR_LOCK, user_version
from postroom.sqlite.errors import FileKind, unusable
from postroom.store.schema import MIGRATIONS

STATE_FILE: Final = FileKind(
    "state file",
    InternalError,
    "Ask the operator to stop Postroom, keep a copy of the file and of those beside it that end in -wal and -shm, "
    "remove these two, and restore the file from a backup or move it away: a new one is made at the next start.",
    closed=InternalError,
)

_CACHE_KIB: Final = 16 * 1024  # the ids of messages from all over a large mailbox: SQLite keeps 2 MB otherwise


class Database(sqlite_database.Database):
    def __init__(self, path: Path, *, wait_for_lock: float = WAIT_FOR_LOCK) -> None:
        super().__init__(path, STATE_FILE, wait_for_lock=wait_for_lock)
        database_file.make(path)
        database_file.close_to_others(path)
        with self.read() as connection:
            version = user_version(connection)
        if version != len(MIGRATIONS):
            self.switch_to_wal()
            self._migrate()

    def connect(self, *, waits: bool = True) -> sqlite3.Connection:
        connection = super().connect(waits=waits)
        connection.row_factory = sqlite3.Row
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        return connection

    def _migrate(self) -> None:
        with self.transaction() as connection:
            version = user_version(connection)
            if version > len(MIGRATIONS):
                raise unusable(self.path, self.kind, "was written by a newer Postroom", "Upgrade Postroom to use it.")
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
