"""What is read once is read again after every change, whoever made it, and a locked file is not waited for."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from postroom.model.errors import PostroomError, ProviderError
from postroom.sqlite.at_once import SLOW, AtOnce
from postroom.sqlite.database import Database, remembered
from postroom.sqlite.errors import FileKind

NOTES = FileKind("note file", ProviderError, "Make another one.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "notes.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE note (text TEXT)")
    connection.close()
    return path


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    database = Database(path, NOTES, wait_for_lock=5)
    yield database
    database.close()


@dataclass
class Used:
    """What the system counts for a thread."""

    ru_utime: float = 0.0
    ru_stime: float = 0.0
    ru_nvcsw: int = 0


class Notes:
    """Counts how often the file was really read."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, connection: sqlite3.Connection) -> list[str]:
        self.reads += 1
        return [text for (text,) in connection.execute("SELECT text FROM note ORDER BY text")]


def seen(database: Database, notes: Notes) -> list[str]:
    with database.snapshot() as connection:
        assert remembered(connection, notes) == remembered(connection, notes)
        return remembered(connection, notes)


def add(database: Database, text: str) -> None:
    with database.transaction() as connection:
        connection.execute("INSERT INTO note VALUES (?)", (text,))


def test_a_file_that_nobody_changed_is_read_once(database: Database) -> None:
    notes = Notes()
    assert [seen(database, notes) for _ in range(3)] == [[], [], []]
    assert notes.reads == 1


def test_every_change_is_seen_by_the_next_snapshot_our_own_and_those_of_others(database: Database, path: Path) -> None:
    notes, other = Notes(), Database(path, NOTES)
    assert seen(database, notes) == []
    add(database, "ours")
    assert seen(database, notes) == ["ours"]
    add(other, "theirs")
    assert seen(database, notes) == ["ours", "theirs"]
    other.close()


def test_what_changes_during_a_snapshot_is_seen_by_the_next_one(database: Database, path: Path) -> None:
    notes, other = Notes(), Database(path, NOTES)
    with database.snapshot() as connection:
        add(other, "meanwhile")
        assert remembered(connection, notes) == []
    assert seen(database, notes) == ["meanwhile"]
    other.close()


def test_two_readers_at_once_know_what_is_true_for_each(database: Database) -> None:
    notes = Notes()
    with database.snapshot() as early:
        assert remembered(early, notes) == []
        add(database, "later")
        with database.snapshot() as late:
            assert (remembered(early, notes), remembered(late, notes)) == ([], ["later"])


def test_a_writer_sees_its_own_changes_and_a_single_read_is_never_remembered(database: Database) -> None:
    notes = Notes()
    with database.transaction() as connection:
        assert remembered(connection, notes) == []
        connection.execute("INSERT INTO note VALUES ('new')")
        assert remembered(connection, notes) == ["new"]
    with database.read() as connection:
        assert remembered(connection, notes) == ["new"]
        add(database, "newer")
        assert remembered(connection, notes) == ["new", "newer"]


def test_the_latest_is_read_again_after_every_change_our_own_or_not(database: Database, path: Path) -> None:
    notes, other = Notes(), Database(path, NOTES)
    assert [database.latest(notes) for _ in range(3)] == [[], [], []]
    assert notes.reads == 1
    add(database, "ours")
    assert database.latest(notes) == ["ours"]
    add(other, "theirs")
    assert [database.latest(notes, waits=False) for _ in range(3)] == [["ours", "theirs"]] * 3
    assert notes.reads == 3
    other.close()


def test_the_latest_and_a_snapshot_know_the_same(database: Database) -> None:
    notes = Notes()
    add(database, "one")
    assert seen(database, notes) == database.latest(notes) == seen(database, notes) == ["one"]
    assert notes.reads == 1


def test_what_was_true_for_an_early_reader_is_not_the_latest(database: Database) -> None:
    notes = Notes()
    with database.snapshot() as early:
        assert remembered(early, notes) == []
        add(database, "later")
    assert database.latest(notes) == ["later"]


def test_a_snapshot_that_fails_leaves_the_connection_for_the_next_one(database: Database) -> None:
    with pytest.raises(KeyError), database.snapshot():
        raise KeyError
    with database.snapshot() as connection, pytest.raises(sqlite3.Error):
        connection.execute("SELECT nothing")
    with database.read() as connection:
        assert not connection.in_transaction


def test_whoever_may_not_wait_fails_at_once_and_the_next_one_waits_again(database: Database, path: Path) -> None:
    with database.snapshot(waits=False) as connection:
        (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
        assert patience == 0
    with database.snapshot() as connection:
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (5000,)
    with database.snapshot(waits=False) as connection:
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (0,)
    with database.read() as connection:
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (5000,)
    database.close()
    locking = sqlite3.connect(path, isolation_level=None)
    locking.execute("PRAGMA locking_mode = EXCLUSIVE")
    locking.execute("INSERT INTO note VALUES ('mine alone')")
    hasty = Database(path, NOTES, wait_for_lock=3600)
    with pytest.raises(PostroomError), hasty.snapshot(waits=False):
        pass
    with pytest.raises(PostroomError):
        hasty.latest(Notes(), waits=False)
    hasty.close()
    locking.close()


def test_after_a_slow_look_the_event_loop_does_not_look_for_a_while() -> None:
    now = [0.0]
    used = Used()
    at_once = AtOnce(lambda: now[0], lambda: replace(used))

    def taking(seconds: float) -> str:
        now[0] += seconds
        used.ru_nvcsw += 1
        return "found"

    assert at_once.is_advisable
    assert at_once.timed(lambda: taking(SLOW)) == "found"
    assert at_once.is_advisable
    assert at_once.timed(lambda: taking(2 * SLOW)) == "found"
    assert not at_once.is_advisable
    now[0] += 3600
    assert at_once.is_advisable


def test_a_look_that_computes_for_long_is_not_slow() -> None:
    now = [0.0]
    used = Used()
    at_once = AtOnce(lambda: now[0], lambda: replace(used))

    def computing() -> None:
        now[0] += 2 * SLOW
        used.ru_utime += SLOW
        used.ru_stime += SLOW
        used.ru_nvcsw += 1

    at_once.timed(computing)
    assert at_once.is_advisable


def test_a_look_that_waits_for_nothing_but_a_processor_is_not_slow() -> None:
    """A thread would get none either."""
    now = [0.0]
    at_once = AtOnce(lambda: now[0], Used)

    def losing_its_turn() -> None:
        now[0] += 2 * SLOW

    at_once.timed(losing_its_turn)
    assert at_once.is_advisable


def test_the_system_counts_a_wait_of_a_look() -> None:
    now = [0.0]
    at_once = AtOnce(lambda: now[0])

    def waiting() -> None:
        now[0] += 2 * SLOW
        subprocess.run([sys.executable, "-c", ""], check=True)

    at_once.timed(waiting)
    assert not at_once.is_advisable
