from __future__ import annotations

import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.kit import WORK, a_send

from postroom.model.errors import Conflict, InternalError, PermissionDenied, PostroomError, ProviderUnavailable
from postroom.sqlite.errors import translate
from postroom.store import State, Store, database, open_store
from postroom.store.database import STATE_FILE, Database
from postroom.store.sends.history import Recipients
from postroom.store.sends.rate import Rate


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_state_is_for_its_owner_only(path: Path, store: Store) -> None:
    store.outbox.prepare(a_send())
    assert mode(path.parent) == 0o700
    assert {mode(file) for file in path.parent.iterdir() if file.is_file()} == {0o600}


def test_a_file_left_open_to_others_is_closed_to_them(path: Path) -> None:
    path.parent.mkdir()
    path.touch(0o644)
    open_store(path).close()
    assert mode(path) == 0o600


def test_what_one_store_wrote_the_next_one_reads(path: Path) -> None:
    first = open_store(path)
    first.recipients.remember(WORK, ["bob@example.org"])
    first.close()
    second = open_store(path)
    assert second.recipients.known(WORK, ["bob@example.org"]) == {"bob@example.org"}
    second.close()


def test_a_durable_transaction_syncs_and_the_others_need_not(path: Path) -> None:
    opened = Database(path)
    with opened.transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    with opened.transaction(durable=False) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 1
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    opened.close()


@pytest.mark.parametrize("take", [Path.unlink, lambda file: file.rename(file.with_name("old.db"))])
def test_a_file_that_is_not_in_its_place_any_more_takes_nothing(path: Path, store: Store, take: Any) -> None:
    store.outbox.prepare(a_send())
    take(path)
    with pytest.raises(InternalError, match="restart every Postroom that uses it"):
        store.outbox.prepare(a_send())
    open_store(path).close()
    with pytest.raises(InternalError, match="was replaced or removed"):
        store.outbox.prepare(a_send())


def test_a_store_whose_tokens_cannot_be_stamped_anew_opens_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_rate: Rate) -> None:
        raise ProviderUnavailable("The disk is full.")

    monkeypatch.setattr(Rate, "adopt", full)
    opened = open_store(path)
    assert opened.outbox.list().items == ()
    opened.close()


@pytest.mark.parametrize("error", [Conflict("no"), KeyboardInterrupt(), UnicodeError()])
def test_a_transaction_that_fails_leaves_nothing_and_the_store_goes_on(path: Path, error: BaseException) -> None:
    opened = Database(path)

    def write_and_fail() -> None:
        with opened.transaction() as connection:
            connection.execute("INSERT INTO recipients VALUES ('work', 'bob@example.org')")
            raise error

    with pytest.raises(type(error)):
        write_and_fail()
    assert Recipients(opened).known(WORK, ["bob@example.org"]) == set()
    Recipients(opened).remember(WORK, ["bob@example.org"])
    opened.close()


def test_a_locked_file_says_so_and_changes_nothing(path: Path) -> None:
    holder, waiter = Database(path), Database(path, wait_for_lock=0.01)
    with holder.transaction(), pytest.raises(ProviderUnavailable, match=r"locked by another process") as caught:
        Recipients(waiter).remember(WORK, ["bob@example.org"])
    assert caught.value.retry_after
    Recipients(waiter).remember(WORK, ["eve@example.org"])
    assert Recipients(holder).known(WORK, ["bob@example.org", "eve@example.org"]) == {"eve@example.org"}
    holder.close()
    waiter.close()


def test_a_lock_is_waited_for_as_long_as_was_asked(path: Path) -> None:
    patient = Database(path, wait_for_lock=0.25)
    with patient.read() as reading, patient.transaction() as writing:
        for connection in (reading, writing):
            assert connection.execute("PRAGMA busy_timeout").fetchone()[0] == 250
    patient.close()


def test_readers_do_not_wait_for_a_writer(path: Path) -> None:
    holder, reader = Database(path), Database(path, wait_for_lock=0.0)
    Recipients(holder).remember(WORK, ["bob@example.org"])
    with holder.transaction() as connection:
        connection.execute("DELETE FROM recipients")
        assert Recipients(reader).known(WORK, ["bob@example.org"]) == {"bob@example.org"}
    holder.close()
    reader.close()


def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is a letter, not a database " * 100)
    before = path.read_bytes()
    with pytest.raises(InternalError, match=r"The state file state\.db is damaged.*backup"):
        open_store(path)
    assert path.read_bytes() == before


def test_damage_inside_the_file_is_named(path: Path) -> None:
    store = open_store(path)
    store.recipients.remember(WORK, [f"{number}@example.org" for number in range(2000)])
    store.close()
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xaa" * len(content[4096 * 2 :])
    path.write_bytes(content)
    with pytest.raises(InternalError, match="damaged"):
        open_store(path).recipients.known(WORK, ["1@example.org"])


def test_a_full_disk_loses_nothing_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class SmallDisk(Database):
        def connect(self, *, waits: bool = True) -> sqlite3.Connection:
            connection = super().connect(waits=waits)
            connection.execute(f"PRAGMA max_page_count={self.pages}")
            return connection

        pages = 1_000_000

    opened = SmallDisk(path)
    Recipients(opened).remember(WORK, ["bob@example.org"])
    opened.close()
    SmallDisk.pages = 1
    opened = SmallDisk(path)
    with pytest.raises(ProviderUnavailable, match=r"disk is full.*changed or\s+lost"):
        Recipients(opened).remember(WORK, [f"{number}@example.org" for number in range(5000)])
    assert Recipients(opened).known(WORK, ["bob@example.org", "1@example.org"]) == {"bob@example.org"}
    opened.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InternalError, match="POSTROOM_HOME"):
        open_store(tmp_path / "file" / "state.db")


def test_a_file_of_a_newer_postroom_is_refused_and_left_alone(path: Path) -> None:
    open_store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(InternalError, match=r"newer Postroom.*Upgrade Postroom to use it\."):
        open_store(path)


def test_an_older_file_gets_the_migrations_it_lacks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(path).close()
    more = (*database.MIGRATIONS, ("CREATE TABLE extra (word TEXT)", "INSERT INTO extra VALUES ('here')"))
    monkeypatch.setattr(database, "MIGRATIONS", more)
    opened = Database(path)
    with opened.read() as connection:
        assert connection.execute("SELECT word FROM extra").fetchone()[0] == "here"
    Database(path).close()
    opened.close()


def test_a_file_that_another_process_upgraded_in_the_same_moment_is_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(path).close()
    real, too_early = database.user_version, iter([0])
    monkeypatch.setattr(database, "user_version", lambda connection: next(too_early, real(connection)))
    opened = Database(path)
    with opened.read() as connection:
        assert real(connection) == len(database.MIGRATIONS)
    opened.close()


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(path).close()
    whole = database.MIGRATIONS
    monkeypatch.setattr(database, "MIGRATIONS", (*whole, ("CREATE TABLE extra (word TEXT)", "CREATE NONSENSE")))
    with pytest.raises(InternalError):
        Database(path)
    monkeypatch.setattr(database, "MIGRATIONS", (*whole, ("CREATE TABLE extra (word TEXT)",)))
    Database(path).close()


def test_a_closed_store_says_so_and_closing_twice_is_fine(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(InternalError, match="closed"):
        store.recipients.known(WORK, ["bob@example.org"])


def test_a_connection_in_use_while_the_database_closes_is_closed_after_use(path: Path) -> None:
    opened = Database(path)
    with opened.read() as connection:
        opened.close()
        connection.execute("SELECT 1")
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, ProviderUnavailable, "locked"),
        (sqlite3.SQLITE_LOCKED, ProviderUnavailable, "locked"),
        (sqlite3.SQLITE_FULL, ProviderUnavailable, "full"),
        (sqlite3.SQLITE_IOERR_FSYNC, ProviderUnavailable, "failing"),
        (sqlite3.SQLITE_CORRUPT_INDEX, InternalError, "damaged"),
        (sqlite3.SQLITE_READONLY_DBMOVED, PermissionDenied, "permissions"),
        (sqlite3.SQLITE_CANTOPEN, InternalError, "permissions"),
        (sqlite3.SQLITE_MISUSE, InternalError, "doctor"),
    ],
)
def test_each_trouble_of_sqlite_tells_what_to_do(code: int, kind: type[PostroomError], words: str) -> None:
    error = sqlite3.OperationalError("secret detail")
    error.sqlite_errorcode = code
    told = translate(error, Path("state.db"), STATE_FILE)
    assert type(told) is kind
    assert words in told.message
    assert "secret" not in told.message


def test_whom_only_a_sent_folder_named_is_forgotten_by_an_upgrade(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(database, "MIGRATIONS", database.MIGRATIONS[:1])
        old = Database(path)
    with old.transaction() as connection:
        connection.executemany(
            "INSERT INTO recipients VALUES ('work', ?)", [("bob@x.example",), ("mallory@x.example",)]
        )
        connection.execute(
            "INSERT INTO outbox VALUES ('s1', 'work', 'send_email', 'email_send', 'done', '', '', '[]', '', '', '', 1,"
            " '', NULL, 0, 1, ?, '', NULL, 0, 0)",
            ('{"accepted": ["Bob@X.example"]}',),
        )
    old.close()
    store = open_store(path)
    assert store.recipients.known("work", ["bob@x.example", "mallory@x.example"]) == {"bob@x.example"}
    store.close()


def test_what_nobody_could_decide_before_an_upgrade_stays_in_doubt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(database, "MIGRATIONS", database.MIGRATIONS[:1])
        old = Database(path)
    ends = {"s1": "rejected", "s2": "retryable", "s3": "cancelled", "s4": "needs_human"}
    with old.transaction() as connection:
        for send_id, state in {**ends, "s5": "rejected"}.items():
            connection.execute(
                "INSERT INTO outbox VALUES (?, 'work', 'send_email', 'email_send', ?, ?, '', '[]', '', '', '', 1,"
                " '', NULL, 0, 1, NULL, '', NULL, 0, 0)",
                (send_id, state, f"content of {send_id}"),
            )
        connection.executemany(
            "INSERT INTO outbox_events VALUES (?, 'needs_human', 0, 1)", [(send_id,) for send_id in ends]
        )
    old.close()
    store = open_store(path)
    sends = {send.send_id: send for send in store.outbox.list(limit=-1).items}
    assert {send_id for send_id, send in sends.items() if send.doubtful} == set(ends)
    assert sends["s1"].state is State.DROPPED  # by a person; the provider refused nothing
    assert store.outbox.latest("work", "send_email", "content of s1") is not None
    assert store.outbox.latest("work", "send_email", "content of s5") is None
    store.close()
