from __future__ import annotations

import os
from pathlib import Path

import pytest

from postroom.store import Store, open_store
from postroom.store.sends import owner
from postroom.store.sends.owner import Owner


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "owners"


def test_an_owner_is_alive_until_it_is_closed_and_a_stranger_never_is(folder: Path) -> None:
    one, other = Owner(folder), Owner(folder)
    assert one.name != other.name
    assert (one.is_alive(other.name), one.is_alive(one.name), one.is_alive("nobody")) == (True, True, False)
    other.close()
    other.close()
    assert one.is_alive(other.name) is False
    assert os.listdir(folder) == [one.name]
    one.close()
    assert os.listdir(folder) == []


def test_who_let_go_of_its_lock_is_dead_and_swept_away_by_the_next(folder: Path) -> None:
    gone, here = Owner(folder), Owner(folder)
    gone.disown()
    assert here.is_alive(gone.name) is False
    third = Owner(folder)
    assert sorted(os.listdir(folder)) == sorted([here.name, third.name])
    for one in (here, third):
        one.close()


def test_a_name_swept_away_before_it_was_locked_is_not_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[int] = []

    def lock(descriptor: int) -> bool:
        if not locked:
            (swept,) = folder.iterdir()
            swept.unlink()
        locked.append(descriptor)
        return real(descriptor)

    real = owner._lock
    monkeypatch.setattr(owner, "_lock", lock)
    one = Owner(folder)
    assert locked[0] == locked[1]  # the first was closed, so its number was free again
    assert os.listdir(folder) == [one.name]
    one.close()


def test_a_store_whose_lock_file_somebody_cleared_away_closes_all_the_same(folder: Path) -> None:
    one = Owner(folder)
    (folder / one.name).unlink()
    one.close()
    assert os.listdir(folder) == []


def test_a_name_that_goes_while_the_dead_are_swept_away_keeps_none_of_them(folder: Path) -> None:
    folder.mkdir()
    for name in ("a", "b", "d", "e"):
        (folder / name).touch()
    (folder / "c").symlink_to("nowhere")  # listed, and not there when it is opened
    one = Owner(folder)
    assert set(os.listdir(folder)) == {"c", one.name}
    one.close()


def test_only_its_user_may_touch_an_owners_lock(folder: Path) -> None:
    before = os.umask(0)
    one = Owner(folder)
    os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / one.name).stat().st_mode & 0o777 == 0o600
    one.close()
    assert list(folder.iterdir()) == []


def test_asking_after_an_owner_or_sweeping_leaves_no_file_open(folder: Path) -> None:
    one, two = Owner(folder), Owner(folder)
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        one.is_alive(two.name)
        one._sweep()
    assert len(os.listdir("/proc/self/fd")) == len(before)
    two.close()
    assert len(os.listdir("/proc/self/fd")) == len(before) - 1
    one.close()


def test_a_forked_child_neither_uses_the_store_nor_keeps_its_lock(path: Path) -> None:
    parent = open_store(path)
    name, (done, told) = parent._owner.name, os.pipe()
    child = os.fork()
    if child == 0:
        try:
            parent.outbox.list()
        except Exception as error:
            os.write(told, type(error).__name__.encode())
        os._exit(0)
    os.close(told)
    with os.fdopen(done, "rb") as answer:
        assert answer.read() == b"InternalError"
    os.waitpid(child, 0)
    watcher = open_store(path)
    assert watcher._owner.is_alive(name)
    parent.close()
    assert not watcher._owner.is_alive(name)
    watcher.close()


def test_a_child_that_outlives_its_parent_does_not_keep_it_alive(path: Path, store: Store) -> None:
    """The middle process opens a store, forks, and dies; its child lives on."""
    said, tell = os.pipe()
    wait, release = os.pipe()
    middle = os.fork()
    if middle == 0:
        owner = open_store(path)._owner
        os.write(tell, owner.name.encode())
        if os.fork() == 0:
            os.close(release)
            os.write(tell, b".")
            os.read(wait, 1)
        os._exit(0)
    os.waitpid(middle, 0)
    name = os.read(said, 16).decode()
    os.read(said, 1)  # the child is there, and has let go
    try:
        assert not store._owner.is_alive(name)
    finally:
        for descriptor in (said, tell, wait, release):
            os.close(descriptor)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_the_lock_file_of_a_process_of_roots_can_be_opened_by_the_owner_of_the_home(folder: Path) -> None:
    """Otherwise no server of theirs starts while it runs, or ever again after it was killed."""
    folder.mkdir()
    os.chown(folder, 1234, 1235)
    roots = Owner(folder)
    made = (folder / roots.name).stat()
    assert (made.st_uid, made.st_gid) == (1234, 1235)
    roots.close()
