"""Where tools may put mails, and which names a new folder may have."""

from __future__ import annotations

import pytest

from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied
from postroom.model.folder import Folder, Role
from postroom.service.organising.places import Places, check_new_folder, check_unlike

INBOX = Folder("1", "INBOX", Role.INBOX)
SENT = Folder("2", "Gesendet", Role.SENT)
DRAFTS = Folder("3", "Drafts", Role.DRAFTS)
TRASH = Folder("4", "Trash", Role.TRASH)
PLANS = Folder("5", "Plans")
HERE = Places([INBOX, SENT, DRAFTS, TRASH, PLANS])


def test_a_place_is_noted_by_the_ref_of_its_folder_and_its_role() -> None:
    assert HERE.of(SENT) == {"folder_ref": "2", "role": "sent"}
    assert HERE.of(PLANS) == {"folder_ref": "5", "role": ""}
    assert HERE.named("Plans") == HERE.of(PLANS)
    assert HERE.named("plans") == {"folder_ref": "", "role": ""}


def test_a_folder_is_found_by_its_role() -> None:
    assert HERE.with_role(Role.TRASH) is TRASH
    assert HERE.with_role(Role.JUNK) is None


@pytest.mark.parametrize("folder", [INBOX, TRASH, PLANS])
def test_any_other_folder_is_open_to_all(folder: Folder) -> None:
    HERE.require_open_to_all(folder)


@pytest.mark.parametrize("folder", [SENT, DRAFTS, Folder("6", "Sent Items"), Folder("7", "x/drafts", is_guess=True)])
def test_nothing_is_put_into_sent_or_drafts_or_what_could_become_one(folder: Folder) -> None:
    there = Places([INBOX, PLANS, folder])
    with pytest.raises(PermissionDenied) as refusal:
        there.require_open_to_all(folder)
    assert folder.name in refusal.value.message
    assert "Use another folder" in refusal.value.message
    assert "Call undo to put back" in refusal.value.message


def test_the_name_of_a_folder_that_is_refused_is_shown_without_hidden_signs() -> None:
    folder = Folder("6", "Se\u202ent", Role.SENT)
    with pytest.raises(PermissionDenied) as refusal:
        Places([folder]).require_open_to_all(folder)
    assert "\u202e" not in refusal.value.message


@pytest.mark.parametrize("folder", HERE.folders)
def test_what_lay_somewhere_may_come_back_there(folder: Folder) -> None:
    assert HERE.still(HERE.of(folder)) == HERE.of(folder)


def test_a_noted_place_is_found_by_its_ref_whatever_it_is_called_now() -> None:
    renamed = Places([INBOX, Folder("5", "Old plans")])
    assert renamed.still(HERE.of(PLANS)) == {"folder_ref": "5", "role": ""}


def test_a_folder_that_is_gone_takes_nothing_back() -> None:
    with pytest.raises(NotFound, match=r"is gone\. Call move_email to move it"):
        Places([INBOX]).still(HERE.of(PLANS))


def test_a_folder_that_has_become_sent_or_drafts_since_takes_nothing_back() -> None:
    for role in (Role.SENT, Role.DRAFTS):
        with pytest.raises(PermissionDenied):
            Places([INBOX, Folder("5", "Plans", role)]).still(HERE.of(PLANS))


def test_a_folder_that_has_another_harmless_role_since_takes_it_back() -> None:
    now = Places([INBOX, Folder("5", "Plans", Role.ARCHIVE)])
    assert now.still(HERE.of(PLANS)) == {"folder_ref": "5", "role": "archive"}


# --- new folders


@pytest.mark.parametrize("name", ["Plans", "Plans/2026", "INBOX/Plans", "inbox/Plans", "Archive", "Gesendet/2026"])
def test_a_name_that_means_no_role_is_free(name: str) -> None:
    check_new_folder(name, HERE.folders)


@pytest.mark.parametrize(
    "name", ["Sent", "Plans/Sent", "Sent/Plans", "inbox", "Plans/INBOX/x", "INBOX/Sent", " Sent ", "Entwu\u0308rfe"]
)
def test_no_level_of_a_new_folder_may_mean_a_role(name: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_new_folder(name, HERE.folders)
    assert refusal.value.details == {"field": "name"}


def test_the_refusal_names_the_folder_that_is_there() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_new_folder("sent", HERE.folders)
    assert "A folder cannot be named 'sent'" in refusal.value.message
    assert "means the sent folder" in refusal.value.message
    assert "use 'Gesendet', which exists, or choose" in refusal.value.message


@pytest.mark.parametrize("name", ["Plans", "PLANS", "plans"])
def test_a_folder_that_is_there_in_another_case_is_named_in_place_of_a_second_one(name: str) -> None:
    with pytest.raises(Conflict, match="'Plans'"):
        check_unlike(name, [*HERE.folders, PLANS])
    check_unlike(f"{name} 2", [*HERE.folders, PLANS])
    check_unlike(PLANS.ref, [*HERE.folders, PLANS])


def test_where_there_is_none_the_refusal_names_none() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_new_folder("Junk", HERE.folders)
    assert "Instead choose a name that cannot be mistaken for it." in refusal.value.message
    assert "which is there" not in refusal.value.message


def test_of_a_long_name_the_refusal_shows_the_first_eighty_characters() -> None:
    name = "S" + "_" * 100 + "ent"
    with pytest.raises(InvalidRequest) as refusal:
        check_new_folder(name, HERE.folders)
    assert f"A folder cannot be named {name[:80]!r}:" in refusal.value.message


def test_a_folder_in_another_spelling_of_one_that_is_there_is_that_one() -> None:
    there = [INBOX, Folder("8", "Entw\u00fcrfe/2026"), Folder("9", "Entw\u00fcrfe", Role.DRAFTS)]
    check_new_folder("Entwu\u0308rfe/2027", there)
