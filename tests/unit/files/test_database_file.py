"""Database files are made, closed to others and recognised without ever being opened beside SQLite."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from postroom.files import database_file
from postroom.files.plain_file import read_below
from postroom.index.database import Database
from postroom.model.errors import PermissionDenied
from postroom.providers.local.schema import SCHEMA
from postroom.store import open_store


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("how", ["at once", "where nobody may make nodes", "where there are none"])
def test_a_new_file_is_empty_and_for_its_owner_and_an_old_one_stays_as_it_is(tmp_path, monkeypatch, how):
    def refused(*_: object) -> None:
        raise PermissionError

    if how == "where nobody may make nodes":
        monkeypatch.setattr(os, "mknod", refused)
    elif how == "where there are none":
        monkeypatch.delattr(os, "mknod")
    path = tmp_path / "new" / "mail.db"
    before = os.umask(0)
    database_file.make(path)
    os.umask(before)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"", 0o600)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    path.write_bytes(b"old")
    inode = path.stat().st_ino
    database_file.make(path)
    assert (path.read_bytes(), path.stat().st_ino, names(path.parent)) == (b"old", inode, ["mail.db"])


def test_a_link_stays_a_link_and_leads_to_the_file(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "mail.db")
    for _ in range(2):
        database = Database(tmp_path / "link.db", SCHEMA)
        database.open()
        database.close()
    assert (tmp_path / "link.db").is_symlink()
    assert names(tmp_path / "real") == ["mail.db"]


def test_of_many_who_make_a_file_all_get_the_same_and_none_empties_it(tmp_path):
    for number in range(20):
        path, seen = tmp_path / f"{number}.db", list[int]()
        start = threading.Barrier(8)

        def make(path=path, seen=seen, start=start) -> None:
            start.wait()
            database_file.make(path)
            seen.append(path.stat().st_ino)

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen)) == 1


def _open_together(folder: Path, barrier: Barrier, failures: multiprocessing.Queue) -> None:
    for number in range(25):
        barrier.wait()
        try:
            open_store(folder / f"{number}.state").close()
            database = Database(folder / f"{number}.db", SCHEMA)
            database.open()
            with database.snapshot() as connection:
                connection.execute("SELECT count(*) FROM raw").fetchone()
            database.close()
        except Exception as error:
            failures.put(f"{type(error).__name__}: {error}")
    failures.put("")


def test_processes_that_start_first_and_together_all_find_the_tables(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, failures, together = context.Barrier(6), context.Queue(), 6
    processes = [context.Process(target=_open_together, args=(tmp_path, barrier, failures)) for _ in range(together)]
    for process in processes:
        process.start()
    told = []
    while told.count("") < together:
        told.append(failures.get(timeout=120))
    for process in processes:
        process.join()
    assert [failure for failure in told if failure] == []


def test_a_switch_to_wal_waits_for_a_reader_and_gives_up_in_the_end(tmp_path):
    path = tmp_path / "mail.db"
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("CREATE TABLE note (text)")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM note").fetchall()
    switching = sqlite3.connect(path, isolation_level=None, timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        database_file.switch_to_wal(switching, 0.05)
    reader.execute("COMMIT")
    database_file.switch_to_wal(switching, 0.05)
    assert switching.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_every_part_of_a_database_in_use_is_known_under_any_name_and_nothing_else_is(tmp_path):
    database = Database(tmp_path / "mail.db", SCHEMA)
    database.open()
    with database.transaction() as connection:
        connection.execute("DELETE FROM raw")
        assert {"mail.db", "mail.db-wal", "mail.db-shm"} <= set(names(tmp_path))
        for name in names(tmp_path):
            os.link(tmp_path / name, tmp_path / f"other-{name}")
            (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
        (tmp_path / "other.db").write_bytes(b"")
        known = {name for name in names(tmp_path) if database_file.is_in_use((tmp_path / name).stat())}
        assert known == set(names(tmp_path)) - {"other.db"}
        for name in known:
            with pytest.raises(PermissionDenied):
                read_below(tmp_path, (name,), name, 100)
    database.close()


# A process that does everything that could open a file by name, and tells which database files Python opened.
WATCHED = """
import asyncio, sys
from pathlib import Path

home, opened = Path(sys.argv[1]), []
names = {f"{stem}{part}" for stem in ("alice.db", "bob.db", "carol.db", "state.db") for part in ("", "-wal", "-shm")}

def heard(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, Path)):
        opened.append(Path(str(arguments[0])).name)

sys.addaudithook(heard)
from dataclasses import replace
from postroom.doors.cli import checkup
from postroom.model.errors import PostroomError
from postroom.service.accounts.importing import import_mail
from tests.gate.rigs import MAIL, gate_rig

async def main():
    for turn in range(2):
        async with gate_rig(home, attachment_dirs=[str(home)]) as gate:
            await gate.inbox()
            await gate.send(replace(MAIL, subject=f"mail {turn}"))
            for name in sorted(names):
                try:
                    await gate.send(replace(MAIL, attachments=(name,)))
                except PostroomError as error:
                    assert error.code == "PERMISSION_DENIED" or not (home / name).exists(), error
            await import_mail(gate.gateway, home, account="bob")
            [finding async for finding in checkup.account(gate.gateway, "alice")]
            list(checkup.settings_and_home(gate.gateway.settings))
    async with gate_rig(home, read_only=True) as gate:
        await gate.inbox()

asyncio.run(main())
assert "old.mbox" in opened, "the watch saw nothing"
print(sorted(names & set(opened)))
"""


def test_a_whole_working_day_opens_no_database_file_but_by_sqlite(tmp_path):
    (tmp_path / "old.mbox").write_text("From ada Mon Jan  1 10:00:00 2024\nSubject: old\n\nHello.\n")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr
