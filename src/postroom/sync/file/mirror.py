"""The file of one account's mirror. Several processes may have it open: one fills it (see `lock`), all read it and
write through what they changed on the server themselves."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from postroom.files import atomic_file
from postroom.index.database import Database
from postroom.index.packing import Damaged
from postroom.model.errors import PostroomError, ProviderError, ProviderUnavailable
from postroom.sqlite.errors import DAMAGED, FileKind, locked, translate
from postroom.sync.file.lock import Lock
from postroom.sync.file.schema import SCHEMA
from postroom.sync.file.status import ABSENT, MirrorStatus, read_status

FOLDER: Final = "mirrors"
_FILE: Final = FileKind("mirror", ProviderError, "It is rebuilt from the server; nothing is lost.")
_PARTS: Final = ("", "-wal", "-shm")
_SUFFIXES: Final = frozenset(
    {f"{kept}{part}" for kept in (".db", ".damaged", ".before") for part in _PARTS} | {".spool", ".lock", ".rebuild"}
)


def mirror_path(home: Path, account: str) -> Path:
    return home / FOLDER / f"{account}.db"


def mirror_files(home: Path) -> dict[str, list[Path]]:
    """All that there are, by the name of the account; none in a folder that cannot be read."""
    found: dict[str, list[Path]] = {}
    with suppress(OSError):
        for file in sorted((home / FOLDER).iterdir()):
            if file.suffix in _SUFFIXES:
                found.setdefault(file.stem, []).append(file)
    return found


class Mirror:
    """`snapshot` and `transaction` as in `sqlite.Database`. Opened on first use.

    Whoever finds the file damaged asks for a rebuild; the process that holds the lock sets the file aside and starts a
    new one (`rebuild`), and the others go on with that: each use looks whether the file is still the one it opened.
    """

    def __init__(self, path: Path, *, wait_for_lock: float = 5.0) -> None:
        self.path = path
        self._wait_for_lock = wait_for_lock
        self._database: Database | None = None
        self._inode = 0
        self.opened = 0  # how often: another number, perhaps another file
        self._opening = threading.Lock()

    @contextmanager
    def snapshot(self, *, waits: bool = True) -> Iterator[sqlite3.Connection]:
        """Whoever may not wait does not open the file either."""
        try:
            database = self._current() if waits else self._already_open()
            with database.snapshot(waits=waits) as connection:
                yield connection
        except PostroomError as error:
            self._notice_damage(error)
            raise

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Not durable at a power cut: what is lost is fetched again."""
        try:
            with self._current().transaction(durable=False) as connection:
                yield connection
        except PostroomError as error:
            self._notice_damage(error)
            raise

    def status(self) -> MirrorStatus:
        """Never raises for a mirror that is absent or damaged: it is just not complete."""
        if not self.path.exists():
            return ABSENT
        try:
            with self.snapshot() as connection:
                return read_status(connection, self._size())
        except PostroomError as error:
            return MirrorStatus(complete=False, as_of=None, bytes=self._size(), last_error=error.message)

    def lock(self) -> Lock | None:
        """The right to fill this mirror; None while another process has it. Kept until it is closed."""
        return Lock.taken(self.path.with_suffix(".lock"))

    # --- rebuilding

    def ask_for_rebuild(self, reason: str) -> None:
        """The process that fills the mirror starts over as soon as it notices."""
        with suppress(OSError):
            atomic_file.replace(self._request, reason.encode())

    def ask_for_reset(self) -> None:
        """As `ask_for_rebuild`, for somebody who wants to know whether it is asked for."""
        try:
            atomic_file.replace(self._request, b"reset")
        except OSError as error:
            raise ProviderUnavailable(
                f"The mirror {self.path.stem} is not reset: {self.path.parent} cannot be written ({error.strerror})."
            ) from error

    @property
    def is_rebuild_asked(self) -> bool:
        return self._request.exists()

    def rebuild(self) -> None:
        """Starts an empty file. A damaged one is set aside as ``.damaged``, for whoever wants to know: only the latest.
        Any other stays until `carrying` has taken over what it knew; while one stays, nothing is in the next. Only
        under the lock."""
        self._empty_log()
        self.close()
        is_damaged = self._request.exists() and self._request.read_bytes().startswith(DAMAGED.encode())
        aside = self.path.with_suffix(".damaged") if is_damaged else self._before
        is_kept = is_damaged or not self.has_before
        for part in _PARTS:
            file = Path(f"{self.path}{part}")
            with suppress(FileNotFoundError):
                file.replace(f"{aside}{part}") if is_kept else file.unlink()
        self.spool.unlink(missing_ok=True)
        self._request.unlink(missing_ok=True)

    def _empty_log(self) -> None:
        """SQLite's log is another file, which stays while others read: whoever is killed after moving the first of the
        two must not leave it without what only the log has."""
        if self.path.exists():
            with suppress(PostroomError), self._current().read() as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def before(self) -> Iterator[sqlite3.Connection | None]:
        """The file that `rebuild` replaced; None where there is none. It stays until `forget_before`."""
        if not self.has_before:
            yield None
            return
        database = Database(self._before, SCHEMA, wait_for_lock=self._wait_for_lock, kind=_FILE)
        try:
            database.open()
            with database.snapshot() as connection:
                yield connection
        finally:
            database.close()

    @property
    def has_before(self) -> bool:
        return self._before.exists()

    def forget_before(self) -> None:
        for part in _PARTS:
            Path(f"{self._before}{part}").unlink(missing_ok=True)

    def remove(self) -> None:
        """With everything that belongs to it."""
        self.close()
        for suffix in _SUFFIXES:
            self.path.with_suffix(suffix).unlink(missing_ok=True)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    @property
    def spool(self) -> Path:
        """See the module of that name."""
        return self.path.with_suffix(".spool")

    @property
    def _before(self) -> Path:
        return self.path.with_suffix(".before")

    @property
    def _request(self) -> Path:
        return self.path.with_suffix(".rebuild")

    def _current(self) -> Database:
        with self._opening:
            if self._database is None or self._inode != _inode(self.path):
                self.close()
                with suppress(OSError):  # it is no folder, or there is something in it
                    self.path.rmdir()
                database = Database(self.path, SCHEMA, wait_for_lock=self._wait_for_lock, kind=_FILE)
                try:
                    database.open()
                except UnicodeDecodeError:  # SQLite quotes the damaged bytes in its error, and Python cannot read that
                    raise translate(Damaged(), self.path, _FILE) from None
                self._database, self._inode = database, _inode(self.path)
                self.opened += 1
            return self._database

    def _already_open(self) -> Database:
        database = self._database
        if database is None or self._inode != _inode(self.path):
            raise locked(self.path, _FILE)
        return database

    def _notice_damage(self, error: PostroomError) -> None:
        if error.details.get(DAMAGED):
            self.ask_for_rebuild(f"{DAMAGED} at {time.time():.0f}")

    def _size(self) -> int:
        files = [self.spool, *(Path(f"{self.path}{part}") for part in _PARTS)]
        return sum(file.stat().st_size for file in files if file.exists())


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0
