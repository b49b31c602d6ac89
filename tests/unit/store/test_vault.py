from __future__ import annotations

import errno
import os
import re

import pytest

from postroom.model.errors import InternalError
from postroom.store.vault.approval_file import ApprovalFile, render
from postroom.store.vault.folder import APPROVED, DONE, PENDING, REJECTED, Found, Vault

FILE = ApprovalFile(type="email_send", status="approved", to=("bob@example.com",))


@pytest.fixture
def vault(tmp_path):
    vault = Vault(tmp_path / "vault")
    vault.prepare()
    return vault


def put(vault, name="a.md", content=None):
    path = vault.root / APPROVED / name
    path.write_bytes(render(FILE) if content is None else content)
    path.chmod(0o600)
    return path


def test_a_pending_file_appears_whole_and_only_its_owner_can_enter(vault):
    path = vault.write_pending("x.md", render(FILE))
    assert path.parent.name == PENDING
    assert [found.file for found in vault.scan(PENDING)] == [FILE]
    assert os.listdir(path.parent) == ["x.md"]
    assert path.parent.stat().st_mode & 0o077 == 0
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def group_umask():
    """What many systems give every user who has a group of their own."""
    before = os.umask(0o002)
    yield
    os.umask(before)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
def test_the_vault_and_every_folder_made_for_it_are_for_their_owner_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        Vault(tmp_path / "new" / "vault").prepare()
    finally:
        os.umask(before)
    folders = [tmp_path / "new", *(path for path in (tmp_path / "new").rglob("*") if path.is_dir())]
    assert len(folders) == 7
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


@pytest.mark.parametrize("place", ["", APPROVED])
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_of_ours_that_others_may_write_to_is_closed_to_them_before_it_is_read(vault, place, mode):
    put(vault)
    (vault.root / place).chmod(mode)
    assert [found.file for found in vault.scan(APPROVED)] == [FILE]
    assert (vault.root / place).stat().st_mode & 0o777 == mode & ~0o022
    assert vault.troubles() == []


def everything_read(vault, found):
    return [*vault.scan(APPROVED), *vault.newest(APPROVED, 9), *vault.remembered(APPROVED)], vault.look_again(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user needs root")
@pytest.mark.parametrize("place", ["", APPROVED])
def test_nothing_is_read_from_a_folder_of_somebody_else_and_it_is_said(vault, place):
    put(vault)
    (found,) = vault.scan(APPROVED)
    os.chown(vault.root / place, 12345, 12345)
    read, again = everything_read(vault, found)
    assert read == []
    assert again.file is None
    assert "belongs to another user" in again.problem
    assert (APPROVED, again.problem) in vault.troubles()


def test_nothing_is_read_from_a_folder_that_cannot_be_closed_to_others(vault, monkeypatch):
    """As on file systems that know no modes."""
    put(vault)
    (found,) = vault.scan(APPROVED)
    (vault.root / APPROVED).chmod(0o777)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    read, again = everything_read(vault, found)
    assert read == []
    assert "can write to the folder Approved" in again.problem
    assert vault.troubles() == [(APPROVED, again.problem)]


def test_nothing_is_read_through_a_link_in_place_of_a_folder_and_the_vault_itself_may_be_one(vault, tmp_path):
    put(vault)
    linked = Vault(tmp_path / "linked")
    linked.root.symlink_to(vault.root)
    (found,) = linked.scan(APPROVED)
    assert found.file == FILE
    (vault.root / APPROVED).rename(tmp_path / "elsewhere")
    (vault.root / APPROVED).symlink_to(tmp_path / "elsewhere")
    read, again = everything_read(linked, found)
    assert read == []
    assert "is a link" in again.problem
    assert linked.troubles() == [(APPROVED, again.problem)]


def test_a_pending_file_is_good_as_it_comes_back_whatever_the_umask(vault, group_umask):
    path = vault.write_pending("x.md", render(FILE))
    vault.claim(path, APPROVED)
    assert [found.file for found in vault.scan(APPROVED)] == [FILE]


def test_an_edited_file_is_read_again_and_a_removed_one_forgotten(vault):
    path = put(vault, content=b"---\ntype: email_send\n")
    assert [found.file for found in vault.scan(APPROVED)] == [None]
    put(vault)
    assert [found.file for found in vault.scan(APPROVED)] == [FILE]
    path.unlink()
    assert list(vault.scan(APPROVED)) == []


def test_links_devices_and_files_of_others_are_not_read(vault, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_bytes(render(FILE))
    folder = vault.root / APPROVED
    (folder / "link.md").symlink_to(outside)
    (folder / "nowhere.md").symlink_to(tmp_path / "nowhere")
    os.link(outside, folder / "hard.md")
    os.mkfifo(folder / "pipe.md")
    put(vault, "open.md").chmod(0o666)
    found = {entry.path.name: entry for entry in vault.scan(APPROVED)}
    assert all(entry.file is None for entry in found.values())
    assert {name: entry.problem for name, entry in found.items()} == {
        "link.md": "The approval file is a symbolic link. Name the file itself.",
        "nowhere.md": "The approval file is a symbolic link. Name the file itself.",
        "hard.md": "The approval file has a second hard link somewhere. It was not used.",
        "pipe.md": "The approval file is not a regular file.",
        "open.md": "Other users can write to the approval file. It was not used. Run: chmod go-w",
    }


@pytest.mark.parametrize(("folder", "mode"), [(0o750, 0o620), (0o701, 0o620), (0o750, 0o602), (0o700, 0o602)])
def test_a_file_that_the_group_or_others_may_write_is_not_used(vault, folder, mode):
    put(vault).chmod(mode)
    (vault.root / APPROVED).chmod(folder)
    assert [found.file for found in vault.scan(APPROVED)] == [None]


def test_a_file_and_a_folder_that_are_closed_after_a_look_are_looked_at_again(vault):
    path, folder = put(vault), vault.root / APPROVED
    path.chmod(0o664)
    folder.chmod(0o755)
    assert [found.file for found in vault.scan(APPROVED)] == [None]
    folder.chmod(0o700)
    assert [found.file for found in vault.scan(APPROVED)] == [FILE]
    path.chmod(0o666)
    assert [found.file for found in vault.scan(APPROVED)] == [None]
    path.chmod(0o644)
    assert [found.file for found in vault.scan(APPROVED)] == [FILE]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400, 0o664])
def test_a_file_that_others_may_only_read_or_cannot_reach_is_used(vault, mode):
    put(vault).chmod(mode)
    assert [found.file for found in vault.scan(APPROVED)] == [FILE]


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another user needs root")
def test_a_file_of_another_owner_is_not_used(vault):
    os.chown(put(vault), 12345, 12345)
    (found,) = vault.scan(APPROVED)
    assert found.file is None
    assert "somebody else" in found.problem


def test_hidden_and_foreign_files_are_passed_over(vault):
    for name in (".a.md.part", ".hidden.md", "notes.txt", "a.md.swp"):
        put(vault, name)
    assert list(vault.scan(APPROVED)) == []
    assert sorted(vault.strays(APPROVED)) == ["a.md.swp", "notes.txt"]


def test_a_file_that_nobody_reads_because_of_its_name_is_a_stray_and_nothing_else_is(vault, tmp_path):
    folder = vault.root / APPROVED
    put(vault, "a.MD")
    for name in (".hidden", "letter.txt", "letter.md.txt"):
        (folder / name).touch()
    (folder / "folder.txt").mkdir()
    (folder / "link.txt").symlink_to(folder / "letter.txt")
    assert sorted(vault.strays(APPROVED)) == ["letter.md.txt", "letter.txt"]
    assert Vault(tmp_path / "none").strays(APPROVED) == []


def test_a_file_is_read_however_its_ending_is_written(vault):
    put(vault, "GO.MD")
    assert [found.file for found in vault.scan(APPROVED)] == [FILE]
    assert vault.strays(APPROVED) == []


def test_a_file_is_claimed_once_and_never_overwrites(vault):
    first = vault.claim(put(vault))
    second = vault.claim(put(vault))
    assert first.name == "a.md"
    assert second.name == "a (2).md"
    assert vault.claim(vault.root / APPROVED / "a.md") is None
    assert {path.name for path in (vault.root / DONE).iterdir()} == {"a.md", "a (2).md"}


def test_find_follows_a_file_to_whichever_folder_a_person_moved_it(vault):
    path = vault.write_pending("x.md", render(FILE))
    path.rename(vault.root / APPROVED / "x.md")
    assert vault.find("x.md").parent.name == APPROVED
    assert vault.find("y.md") is None


def test_what_is_remembered_may_be_old_and_a_second_look_is_not(vault):
    path = put(vault)
    vault.scan(APPROVED)
    path.write_bytes(b"---\nnonsense")
    (found,) = vault.remembered(APPROVED)
    assert found.file == FILE
    assert vault.look_again(found).file is None
    path.unlink()
    assert vault.look_again(found).file is None
    vault.scan(APPROVED)
    assert vault.remembered(APPROVED) == []


def test_a_file_whose_folder_was_taken_away_after_a_look_is_said_to_be_gone(vault):
    path = put(vault)
    (found,) = vault.scan(APPROVED)
    path.unlink()
    path.parent.rmdir()
    assert vault.look_again(found) == Found(path, None, "The approval file is gone.")


def test_every_folder_is_made_and_private(tmp_path):
    vault = Vault(tmp_path / "new" / "vault")
    vault.prepare()
    vault.prepare()
    folders = {path.name: path.stat().st_mode & 0o777 for path in vault.root.iterdir()}
    assert folders == dict.fromkeys(("Pending_Approval", "Approved", "Rejected", "Done", "Logs"), 0o700)


def test_a_file_that_cannot_be_written_is_an_error_with_its_reason_and_leaves_nothing(vault):
    (vault.root / PENDING / "x.md").mkdir()
    with pytest.raises(InternalError, match=r"could not be written to the vault \(Is a directory\)"):
        vault.write_pending("x.md", render(FILE))
    assert os.listdir(vault.root / PENDING) == ["x.md"]


def test_a_half_written_file_of_a_writer_that_died_is_in_nobody_s_way(vault):
    (vault.root / PENDING / ".x.md.part").touch()
    assert vault.write_pending("x.md", render(FILE)).read_bytes() == render(FILE)


def test_a_file_that_cannot_be_moved_is_an_error_that_names_the_folder(vault):
    path = put(vault)
    (vault.root / DONE).rmdir()
    (vault.root / DONE).write_text("in the way")
    with pytest.raises(InternalError, match=r"could not be moved to Done \(Not a directory\)"):
        vault.claim(path)
    assert path.exists()


def test_a_file_is_not_moved_through_a_link(vault, tmp_path):
    path = put(vault)
    (vault.root / DONE).rmdir()
    (vault.root / DONE).symlink_to(tmp_path)
    with pytest.raises(InternalError, match="could not be moved to Done"):
        vault.claim(path)
    assert path.exists()


def test_a_moved_file_takes_the_place_of_nothing_not_even_of_a_link_to_nowhere(vault):
    link = vault.root / DONE / "a.md"
    link.symlink_to("nowhere")
    assert vault.claim(put(vault)).name == "a (2).md"
    assert link.is_symlink()


def test_a_file_is_not_moved_into_a_folder_that_cannot_be_closed_to_others(vault, monkeypatch):
    path = put(vault)
    (vault.root / DONE).chmod(0o777)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with pytest.raises(InternalError, match=r"could not be moved to Done \(Other users can write to the folder Done\."):
        vault.claim(path)
    assert path.exists()


def test_a_file_that_another_process_took_is_no_trouble_whatever_else_is_wrong(vault):
    path = put(vault)
    path.unlink()
    (vault.root / DONE).rmdir()
    (vault.root / DONE).write_text("in the way")
    assert vault.claim(path) is None


def test_a_third_file_of_one_name_gets_a_third_number(vault):
    assert [vault.claim(put(vault)).name for _ in range(3)] == ["a.md", "a (2).md", "a (3).md"]


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(vault):
    path = put(vault)
    (first,) = vault.scan(APPROVED)
    (again,) = vault.scan(APPROVED)
    assert again is first
    before = path.stat()
    path.write_bytes(render(FILE).replace(b"bob", b"eve"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    (changed,) = vault.scan(APPROVED)
    assert changed.recipients == {"eve@example.com"}


def test_a_file_that_grew_is_read_again_though_its_time_agrees(vault):
    path = put(vault)
    vault.scan(APPROVED)
    before = path.stat()
    path.write_bytes(render(FILE).replace(b"bob", b"eve.e"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [found.recipients for found in vault.scan(APPROVED)] == [{"eve.e@example.com"}]


def test_a_file_put_in_the_place_of_another_is_read_though_size_and_time_agree(vault, tmp_path):
    path = put(vault)
    vault.scan(APPROVED)
    before = path.stat()
    swapped = tmp_path / "other.md"
    swapped.write_bytes(render(FILE).replace(b"bob", b"eve"))
    swapped.chmod(0o600)
    os.utime(swapped, ns=(before.st_atime_ns, before.st_mtime_ns))
    swapped.rename(path)
    assert [found.recipients for found in vault.scan(APPROVED)] == [{"eve@example.com"}]


class OfOneTick:
    """A file's state by a clock that does not move between two changes."""

    st_mtime_ns = st_ctime_ns = 0

    def __init__(self, state):
        self._state = state

    def __getattr__(self, name):
        return getattr(self._state, name)


@pytest.mark.parametrize("content", [render(FILE) + b"more", render(FILE).replace(b"bob", b"eve")])
def test_a_file_that_grew_or_was_replaced_within_one_tick_of_the_clock_is_read_again(
    vault, monkeypatch, tmp_path, content
):
    path, real = put(vault), os.stat
    monkeypatch.setattr(os, "stat", lambda *args, **more: OfOneTick(real(*args, **more)))
    (first,) = vault.scan(APPROVED)
    if len(content) > len(render(FILE)):
        path.write_bytes(content)
    else:
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").chmod(0o600)
        (tmp_path / "new").rename(path)
    (again,) = vault.scan(APPROVED)
    assert first.file == FILE
    assert again.file not in (None, FILE)


def test_a_good_file_is_found_without_a_problem(vault):
    path = put(vault)
    assert vault.scan(APPROVED) == [Found(path, FILE, "", frozenset({"bob@example.com"}))]


def test_whom_a_file_is_about_is_told_in_the_spelling_that_two_spellings_share(vault):
    put(vault, content=b"---\ntype: email_send\nto: [' Bob@Example.COM ', carol@example.com]\n---\n")
    assert [found.recipients for found in vault.scan(APPROVED)] == [{"bob@example.com", "carol@example.com"}]


def test_the_newest_files_come_first_and_no_more_than_asked_for(vault):
    for number, name in enumerate(["old.md", "new.md", "middle.md"]):
        os.utime(put(vault, name), (1000 + number * (3 - number), 1000 + number * (3 - number)))
    os.utime(vault.root / APPROVED / "new.md", (5000, 5000))
    assert [found.path.name for found in vault.newest(APPROVED, 2)] == ["new.md", "middle.md"]
    assert vault.newest(APPROVED, 2)[0].file == FILE


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    vault = Vault(tmp_path / "nowhere")
    assert vault.names(APPROVED) == []
    assert vault.scan(APPROVED) == []
    assert vault.newest(APPROVED, 5) == []
    assert vault.remembered(APPROVED) == []
    assert vault.find("x.md") is None


def test_a_file_of_just_the_size_that_is_read_is_read(vault):
    front = b"---\ntype: email_send\n---\n"
    put(vault, "full.md", front + b"x" * (1024 * 1024 - len(front)))
    put(vault, "over.md", front + b"x" * (1024 * 1024 - len(front) + 1))
    found = {entry.path.name: entry for entry in vault.scan(APPROVED)}
    assert len(found["full.md"].file.body) == 1024 * 1024 - len(front)
    assert found["over.md"].problem == "The approval file is larger than 1 MiB. It was not used."


def test_a_file_that_is_moved_on_while_we_look_hides_no_other(vault, monkeypatch):
    put(vault, "b.md")
    monkeypatch.setattr(vault, "names", lambda folder: ["a.md", "b.md"])
    assert [found.path.name for found in vault.scan(APPROVED)] == ["b.md"]


def test_a_file_that_goes_while_we_look_hides_no_other(vault, monkeypatch):
    for name in ("a.md", "b.md", "c.md"):
        put(vault, name)
    listed = os.listdir(vault.root / APPROVED)
    gone = listed[0]

    def listing(folder):
        (vault.root / APPROVED / gone).unlink(missing_ok=True)
        return list(listed)

    monkeypatch.setattr("postroom.store.vault.folder._names", listing)
    assert [found.path.name for found in vault.scan(APPROVED)] == listed[1:]


def test_a_folder_that_the_disk_does_not_give_is_told_with_the_reason(vault, monkeypatch):
    def broken(*_args, **_kwargs):
        raise OSError(errno.EIO, "not shown")

    monkeypatch.setattr("postroom.store.vault.folder.opened_folder", broken)
    assert vault.troubles() == [(name, os.strerror(errno.EIO)) for name in (PENDING, APPROVED, REJECTED)]


def test_a_file_is_whole_and_on_the_disk_before_it_has_its_name(vault, monkeypatch):
    done, real = [], {verb: getattr(os, verb) for verb in ("fsync", "rename")}

    def fsync(descriptor):
        done.append(os.fstat(descriptor).st_size)
        real["fsync"](descriptor)

    def rename(*names, **folders):
        done.append("named")
        real["rename"](*names, **folders)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    vault.write_pending("x.md", render(FILE))
    assert done == [len(render(FILE)), "named"]


def test_a_file_that_could_not_even_be_begun_is_an_error_with_its_own_reason(vault, monkeypatch):
    real = os.open

    def full(path, *args, **more):
        if str(path).endswith(".part"):
            raise OSError(errno.ENOSPC, "not shown")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(InternalError, match=re.escape(f"to the vault ({os.strerror(errno.ENOSPC)})")):
        vault.write_pending("x.md", render(FILE))
