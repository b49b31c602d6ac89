from __future__ import annotations

import os

import pytest

from postroom.store.approval_file import ApprovalFile, render
from postroom.store.vault import APPROVED, DONE, PENDING, Vault

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


@pytest.fixture
def group_umask():
    """What many systems give every user who has a group of their own."""
    before = os.umask(0o002)
    yield
    os.umask(before)


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
    os.link(outside, folder / "hard.md")
    os.mkfifo(folder / "pipe.md")
    put(vault, "open.md").chmod(0o666)
    found = {entry.path.name: entry for entry in vault.scan(APPROVED)}
    assert set(found) == {"link.md", "hard.md", "pipe.md", "open.md"}
    assert all(entry.file is None and entry.problem for entry in found.values())


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
