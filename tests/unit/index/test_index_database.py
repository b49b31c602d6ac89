from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from postroom.index.database import Database, statements
from postroom.index.schema import INDEX_TABLES, Schema
from postroom.model.errors import PermissionDenied, ProviderError, ProviderUnavailable

SCHEMA = Schema(("CREATE TABLE note (text TEXT);",))


def opened(path: Path, schema: Schema = SCHEMA, *, read_only: bool = False) -> Database:
    database = Database(path, schema, read_only=read_only, wait_for_lock=0.05)
    database.open()
    return database


def notes(database: Database) -> list[str]:
    with database.snapshot() as connection:
        return [text for (text,) in connection.execute("SELECT text FROM note")]


def note(database: Database, text: str) -> None:
    with database.transaction() as connection:
        connection.execute("INSERT INTO note VALUES (?)", (text,))


def test_a_new_file_is_for_its_owners_eyes_only(tmp_path: Path) -> None:
    opened(tmp_path / "deep" / "mail.db")
    assert (tmp_path / "deep" / "mail.db").stat().st_mode & 0o777 == 0o600


def test_opening_again_keeps_what_is_there(tmp_path: Path) -> None:
    note(opened(tmp_path / "mail.db"), "kept")
    assert notes(opened(tmp_path / "mail.db")) == ["kept"]


def test_a_failed_transaction_leaves_nothing_behind(tmp_path: Path) -> None:
    database = opened(tmp_path / "mail.db")
    with pytest.raises(ProviderError), database.transaction() as connection:
        connection.executemany("INSERT INTO note VALUES (?)", [("half",), ("of it",)]).execute(
            "INSERT INTO nowhere VALUES (1)"
        )
    assert notes(database) == []
    note(database, "next")
    assert notes(database) == ["next"]


def test_a_reader_sees_one_moment_however_long_it_reads(tmp_path: Path) -> None:
    database = opened(tmp_path / "mail.db")
    with database.snapshot() as connection:
        before = connection.execute("SELECT count(*) FROM note").fetchone()
        note(database, "meanwhile")
        assert connection.execute("SELECT count(*) FROM note").fetchone() == before
    assert notes(database) == ["meanwhile"]


def test_many_threads_may_read_and_write_at_once(tmp_path: Path) -> None:
    database = Database(tmp_path / "mail.db", SCHEMA)
    database.open()
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                note(database, f"{number}.{turn}")
                notes(database)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(notes(database))) == 40


def test_a_file_locked_by_another_program_is_said_and_can_be_read_meanwhile(tmp_path: Path) -> None:
    database = opened(tmp_path / "mail.db")
    note(database, "before")
    other = sqlite3.connect(tmp_path / "mail.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ProviderUnavailable, match="locked by another process") as caught:
        note(database, "refused")
    assert caught.value.retry_after
    assert notes(database) == ["before"]
    other.rollback()
    note(database, "after")
    assert notes(database) == ["before", "after"]


def test_a_writer_that_hangs_in_this_process_does_not_hold_up_others_for_ever(tmp_path: Path) -> None:
    database = opened(tmp_path / "mail.db")
    with database.transaction(), pytest.raises(ProviderUnavailable, match="locked"):
        note(database, "second")


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    database = opened(tmp_path / "mail.db")
    note(database, "kept")
    with database.transaction() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ProviderError, match="disk is full"):
        note(database, "x" * 100_000)
    assert notes(database) == ["kept"]


@pytest.mark.parametrize(
    "junk", [b"this is no database, however long it may be " * 200, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "mail.db"
    path.write_bytes(junk)
    with pytest.raises(ProviderError, match=r"mail\.db.*(damaged|backup)"):
        opened(path)
    assert path.read_bytes() == junk


def test_a_file_that_is_damaged_while_open_is_said(tmp_path: Path) -> None:
    database = opened(tmp_path / "mail.db")
    for number in range(200):
        note(database, f"{number}" * 200)
    with database.transaction() as connection:
        connection.execute("SELECT 1")
    database.close()
    size = (tmp_path / "mail.db").stat().st_size
    with (tmp_path / "mail.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    database.open()
    with pytest.raises(ProviderError, match="damaged"):
        notes(database)


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(ProviderError, match="not a Postroom mailbox"):
        opened(path)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "mail.db", Schema((*SCHEMA.steps, "CREATE TABLE later (x);")))
    with pytest.raises(ProviderError, match="newer"):
        opened(tmp_path / "mail.db")


def test_an_older_file_is_brought_up_to_date_with_its_content(tmp_path: Path) -> None:
    note(opened(tmp_path / "mail.db"), "old")
    newer = opened(
        tmp_path / "mail.db", Schema((*SCHEMA.steps, "ALTER TABLE note ADD COLUMN mood TEXT DEFAULT 'calm';"))
    )
    with newer.snapshot() as connection:
        assert connection.execute("SELECT text, mood FROM note").fetchall() == [("old", "calm")]


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    note(opened(tmp_path / "mail.db"), "old")
    with pytest.raises(ProviderError):
        opened(tmp_path / "mail.db", Schema((*SCHEMA.steps, "CREATE TABLE new (x);\nCREATE TABLE note (y);")))
    assert notes(opened(tmp_path / "mail.db")) == ["old"]


def test_read_only_reads_and_refuses_to_write(tmp_path: Path) -> None:
    note(opened(tmp_path / "mail.db"), "there")
    database = opened(tmp_path / "mail.db", read_only=True)
    assert notes(database) == ["there"]
    with pytest.raises(PermissionDenied, match="read-only"):
        note(database, "no")


def test_read_only_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="cannot be opened"):
        opened(tmp_path / "mail.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ProviderError, match="cannot be created"):
        opened(tmp_path / "file" / "mail.db")


def test_a_closed_database_says_so(tmp_path: Path) -> None:
    database = opened(tmp_path / "mail.db")
    database.close()
    with pytest.raises(ProviderUnavailable, match="closed"):
        notes(database)
    with pytest.raises(ProviderUnavailable, match="closed"):
        note(database, "late")


def test_a_script_is_split_at_its_statements_triggers_whole() -> None:
    found = list(statements(INDEX_TABLES))
    assert all(sqlite3.complete_statement(statement) for statement in found)
    assert sum("CREATE TRIGGER" in statement for statement in found) == INDEX_TABLES.count("CREATE TRIGGER")


def test_whoever_may_not_wait_does_not_wait_for_a_new_connection_either(tmp_path: Path) -> None:
    opened(tmp_path / "mail.db").close()
    hasty = Database(tmp_path / "mail.db", SCHEMA, wait_for_lock=3600)
    hasty.open()
    locking = sqlite3.connect(tmp_path / "mail.db", isolation_level=None)
    locking.execute("PRAGMA locking_mode = EXCLUSIVE")
    locking.execute("INSERT INTO note VALUES ('mine alone')")
    with pytest.raises(ProviderUnavailable), hasty.snapshot(waits=False):
        pass
    locking.close()
    assert notes(hasty) == ["mine alone"]
    hasty.close()


def test_an_older_file_is_waited_for_while_another_process_migrates_it(tmp_path: Path) -> None:
    opened(tmp_path / "mail.db").close()
    newer = Schema((*SCHEMA.steps, "ALTER TABLE note ADD COLUMN more TEXT;"))
    migrating = sqlite3.connect(tmp_path / "mail.db", isolation_level=None, check_same_thread=False)
    migrating.execute("BEGIN IMMEDIATE")
    for statement in ("ALTER TABLE note ADD COLUMN more TEXT", "PRAGMA user_version = 2"):
        migrating.execute(statement)
    done = threading.Timer(0.3, migrating.execute, ["COMMIT"])  # longer than a file is waited for otherwise
    done.start()
    database = opened(tmp_path / "mail.db", newer)
    done.join()
    migrating.close()
    assert notes(database) == []
    assert database.wait_for_lock == 0.05
