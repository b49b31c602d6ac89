from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from postroom.model.errors import Conflict, InvalidRequest, NotFound
from postroom.model.folder import Role

from .mails import folder_named, listed, mail
from .rigs import Rig, RigAccount, SeedMail


@pytest.fixture
def mailbox(account: RigAccount) -> Any:
    return account.mailbox


async def test_each_role_is_played_by_at_most_one_folder(account: RigAccount) -> None:
    roles = [folder.role for folder in await account.mailbox.folders() if folder.role]
    assert len(roles) == len(set(roles))
    assert {Role.INBOX, Role.SENT, Role.TRASH} <= set(roles)


async def test_folder_refs_and_names_are_unique(account: RigAccount) -> None:
    folders = await account.mailbox.folders()
    assert len({folder.ref for folder in folders}) == len({folder.name for folder in folders}) == len(folders)


async def test_a_folder_counts_its_mails(rig: Rig, account: RigAccount) -> None:
    await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"), flags=("read",))])
    inbox = await folder_named(account, "inbox")
    assert inbox.total in (2, None)
    assert inbox.unread in (1, None)


@pytest.mark.needs("can_create_folder")
@pytest.mark.parametrize("name", ["Receipts", "請求書", "Büro & Söhne", "Projects/Aurora/Old", "経理/2026年"])
async def test_a_made_folder_is_listed_and_takes_mail(rig: Rig, account: RigAccount, mailbox: Any, name: str) -> None:
    made = await mailbox.create_folder(name)
    assert made.name == name
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    (result,) = await mailbox.move([ref], made.ref)
    assert result.ok
    assert (await folder_named(account, name)).ref == made.ref
    (row,) = (await listed(account, name)).items
    assert row.folder == name


@pytest.mark.needs("can_create_folder")
async def test_a_name_in_pieces_is_the_same_name_put_together(mailbox: Any) -> None:
    made = await mailbox.create_folder(unicodedata.normalize("NFD", "Entwürfe für März"))
    assert made.name == "Entwürfe für März"
    assert made.ref in {folder.ref for folder in await mailbox.folders()}


@pytest.mark.needs("can_create_folder")
@pytest.mark.parametrize("name", ["", "a//b", "a\r\nx LOGOUT", "a\0b", "a\u202eb", "a" * 256])
async def test_a_name_that_would_mislead_or_break_is_refused(mailbox: Any, name: str) -> None:
    before = await mailbox.folders()
    with pytest.raises(InvalidRequest, match="folder name"):
        await mailbox.create_folder(name)
    assert await mailbox.folders() == before


@pytest.mark.needs("can_create_folder")
async def test_missing_parents_are_made_too(mailbox: Any) -> None:
    await mailbox.create_folder("Clients/North/2026")
    names = {folder.name for folder in await mailbox.folders()}
    assert {"Clients", "Clients/North", "Clients/North/2026"} <= names


@pytest.mark.needs("can_create_folder")
async def test_a_folder_that_exists_is_a_conflict(mailbox: Any) -> None:
    await mailbox.create_folder("Receipts")
    with pytest.raises(Conflict):
        await mailbox.create_folder("Receipts")


@pytest.mark.needs("can_create_folder")
async def test_an_empty_folder_can_be_taken_back(mailbox: Any) -> None:
    made = await mailbox.create_folder("Mistake")
    await mailbox.delete_folder(made.ref)
    assert "Mistake" not in {folder.name for folder in await mailbox.folders()}


@pytest.mark.needs("can_create_folder")
async def test_a_folder_with_mail_in_it_is_not_deleted(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    made = await mailbox.create_folder("Full")
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    await mailbox.move([ref], made.ref)
    with pytest.raises(Conflict):
        await mailbox.delete_folder(made.ref)
    assert len((await listed(account, "Full")).items) == 1


@pytest.mark.needs("can_create_folder")
async def test_deleting_a_folder_that_is_not_there_is_not_found(mailbox: Any) -> None:
    made = await mailbox.create_folder("Brief")
    await mailbox.delete_folder(made.ref)
    with pytest.raises(NotFound):
        await mailbox.delete_folder(made.ref)
