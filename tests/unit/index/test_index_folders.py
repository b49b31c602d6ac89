from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from postroom.index import folders
from postroom.model.errors import Conflict, NotFound


def names(index: sqlite3.Connection) -> list[str]:
    return [folder.name for folder in folders.list_folders(index)]


def test_folders_with_a_role_come_first_and_the_others_by_name(index: sqlite3.Connection) -> None:
    for name in ("Zoo", "請求書", "10"):
        folders.add_folder(index, name)
    assert names(index) == ["INBOX", "Trash", "10", "Projects/Aurora", "Zoo", "請求書"]


@pytest.mark.parametrize("name", ["INBOX", "inbox", "projects/AURORA"])
def test_a_name_that_is_taken_in_any_case_is_a_conflict(index: sqlite3.Connection, name: str) -> None:
    with pytest.raises(Conflict, match="already exists"):
        folders.add_folder(index, name)


def test_only_an_empty_folder_without_a_role_can_be_removed(index: sqlite3.Connection, add: Callable[..., str]) -> None:
    folders.add_folder(index, "Projects")
    add(folder="Projects/Aurora")
    for name in ("INBOX", "Projects", "Projects/Aurora"):
        with pytest.raises(Conflict):
            folders.remove_folder(index, name)
    folders.add_folder(index, "Empty")
    folders.remove_folder(index, "Empty")
    assert names(index) == ["INBOX", "Trash", "Projects", "Projects/Aurora"]
    with pytest.raises(NotFound, match="list_folders"):
        folders.remove_folder(index, "Empty")


def test_a_folder_may_have_a_ref_of_its_own(index: sqlite3.Connection) -> None:
    folders.add_folder(index, "Rechnungen", ref="AAMk-7")
    assert folders.find_folder(folders.list_folders(index), "AAMk-7").name == "Rechnungen"


def test_every_change_in_a_folder_moves_its_revision_and_no_other(
    index: sqlite3.Connection, add: Callable[..., str]
) -> None:
    before = folders.revisions(index)
    add(labels=("x",))
    after = folders.revisions(index)
    assert {name for name in after if after[name] != before[name]} == {"INBOX"}
