"""Folders are found by name or by what they are for."""

from __future__ import annotations

import unicodedata

import pytest

from postroom.mime.clean import clean_line
from postroom.model.errors import InvalidRequest
from postroom.model.folder import Folder, Role, check_folder_name, match_folder

FOLDERS = [
    Folder("1", "INBOX", Role.INBOX),
    Folder("2", "Gesendet", Role.SENT),
    Folder("3", "Papierkorb", Role.TRASH),
    Folder("4", "Spam", Role.JUNK),
    Folder("5", "Projects/Alpha"),
    Folder("6", "sent"),
]


@pytest.mark.parametrize(
    ("wanted", "ref"),
    [
        ("INBOX", "1"),
        ("inbox", "1"),
        ("Sent", "2"),
        ("Sent Items", "2"),
        ("trash", "3"),
        ("Deleted Items", "3"),
        ("junk", "4"),
        ("SPAM", "4"),
        ("projects/alpha", "5"),
        ("5", "5"),
    ],
)
def test_a_folder_is_found_by_name_role_or_ref(wanted: str, ref: str) -> None:
    found = match_folder(FOLDERS, wanted)
    assert found is not None
    assert found.ref == ref


def test_an_exact_name_wins_over_a_role() -> None:
    found = match_folder(FOLDERS, "sent")
    assert found is not None
    assert found.ref == "6"


@pytest.mark.parametrize("name", ["trailing ", "会議　資料", "two  spaces", "zero\u200bwidth", "Cafe\u0301", "a\xa0b"])
def test_a_folder_is_found_by_what_is_shown_of_its_name(name: str) -> None:
    folders = [*FOLDERS, Folder("7", name)]
    for wanted in (clean_line(name), clean_line(name).upper(), unicodedata.normalize("NFC", clean_line(name))):
        found = match_folder(folders, wanted)
        assert found is not None
        assert found.ref == "7"


def test_of_folders_that_differ_in_case_only_none_is_guessed() -> None:
    folders = [Folder("1", "Work"), Folder("2", "work")]
    assert [match_folder(folders, name) for name in ("Work", "work", "WORK")] == [*folders, None]


def test_of_folders_that_look_the_same_none_is_guessed() -> None:
    folders = [Folder("1", "Plan "), Folder("2", "Plan\u200b")]
    assert match_folder(folders, "Plan") is None
    assert match_folder(folders, "Plan ") == folders[0]
    assert match_folder([*folders, Folder("3", "\u200b")], "") is None


def test_an_unknown_folder_is_not_guessed() -> None:
    assert match_folder(FOLDERS, "Archive") is None
    assert match_folder([], "INBOX") is None


@pytest.mark.parametrize("name", ["Work", "Projects/Aurora/2026", "請求書", "Büro & Co.", "a" * 255])
def test_names_in_any_script_are_good(name: str) -> None:
    check_folder_name(name)


@pytest.mark.parametrize(
    "name", ["", "/", "a//b", "/a", "a/", " a", "a /b", "a\nb", "a\0b", "a\u202eb", "..", "a/../b", "a" * 256]
)
def test_names_that_would_mislead_or_break_are_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="folder name"):
        check_folder_name(name)


def test_a_ref_names_its_own_folder_though_another_one_is_called_that() -> None:
    impostor, sent = Folder("INBOX/INBOX/Sent", "INBOX/Sent"), Folder("INBOX/Sent", "Sent", Role.SENT)

    assert match_folder([impostor, sent], "INBOX/Sent") is sent
