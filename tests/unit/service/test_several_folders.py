"""Mails that lie in several folders at once: found in each of them, moved out of one, and put back into all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.peers.memory_mailbox import Contents, LabelMailbox, provided

from postroom.model.errors import PermissionDenied
from postroom.model.folder import Folder, Role
from postroom.service.gateway import Gateway
from postroom.service.organising import organise
from postroom.service.organising.places import Places
from postroom.service.reading import search


def lies_in(contents: Contents, ref: str) -> set[str]:
    return set(contents.mails[ref][0].folders)


async def only_id(gateway: Gateway, mailbox: str = "INBOX") -> str:
    (row,) = (await search.list_emails(gateway, mailbox=mailbox)).results
    return row.email_id


async def test_a_mail_is_listed_in_each_of_its_folders_as_one_mail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, LabelMailbox) as (gateway, (contents,)):
        contents.add(mail("one"), "INBOX", "Work")
        assert await only_id(gateway, "INBOX") == await only_id(gateway, "Work")
        (row,) = (await search.search_emails(gateway, "in:work")).results
        assert row.mailbox == "INBOX"


async def test_a_move_leaves_the_folder_it_is_shown_in_and_undo_restores_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, LabelMailbox) as (gateway, (contents,)):
        ref = contents.add(mail("one"), "INBOX", "Work")
        moved = await organise.move(gateway, [await only_id(gateway)], "Plans")
        assert lies_in(contents, ref) == {"Plans", "Work"}
        assert (await organise.undo(gateway, moved.operation_id)).failed == 0
        assert lies_in(contents, ref) == {"INBOX", "Work"}


async def test_a_mail_in_the_trash_lies_nowhere_else_and_undo_puts_it_back_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, LabelMailbox) as (gateway, (contents,)):
        ref = contents.add(mail("one"), "INBOX", "Work", "Plans")
        deleted = await organise.delete(gateway, [await only_id(gateway)])
        assert lies_in(contents, ref) == {"Trash"}
        undone = await organise.undo(gateway, deleted.operation_id)
        assert lies_in(contents, ref) == {"INBOX", "Work", "Plans"}
        assert set(undone.folders) == {"INBOX", "Work", "Plans"}


async def test_undo_leaves_a_mail_alone_that_was_filed_elsewhere_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, LabelMailbox) as (gateway, (contents,)):
        ref = contents.add(mail("one"), "INBOX", "Work")
        moved = await organise.move(gateway, [await only_id(gateway)], "Plans")
        await LabelMailbox(gateway.accounts.named(None), None).put_into([ref], ["f5"])
        undone = await organise.undo(gateway, moved.operation_id)
        assert (undone.succeeded, undone.failed) == (0, 1)
        assert lies_in(contents, ref) == {"Plans"}


def test_a_place_of_several_folders_is_the_same_whichever_is_shown() -> None:
    here = Places([Folder("1", "INBOX", Role.INBOX), Folder("2", "Work")])
    assert here.named("INBOX", "Work") == here.named("Work", "INBOX")
    assert here.still(here.named("INBOX", "Work")) == here.named("Work", "INBOX")


def test_nothing_comes_back_into_several_folders_of_which_one_has_become_sent() -> None:
    noted = Places([Folder("1", "INBOX", Role.INBOX), Folder("2", "Work")]).named("INBOX", "Work")
    with pytest.raises(PermissionDenied):
        Places([Folder("1", "INBOX", Role.INBOX), Folder("2", "Work", Role.SENT)]).still(noted)
