from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from postroom.model.errors import Conflict, InvalidRequest, NotFound
from postroom.model.folder import Role
from postroom.providers.protocol import FolderInRefs

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


@pytest.mark.needs("can_rename_folder")
async def test_a_renamed_folder_keeps_its_mails_and_what_is_below_it(
    rig: Rig, account: RigAccount, mailbox: Any
) -> None:
    made = await mailbox.create_folder("Clients/North")
    below = await mailbox.create_folder("Clients/North/2026")
    refs = await rig.seed([SeedMail(mail("one")), SeedMail(mail("two"))])
    (first,) = await mailbox.move([refs[0]], made.ref)
    (second,) = await mailbox.move([refs[1]], below.ref)
    renamed = await mailbox.rename_folder(made.ref, "Büro & 北")
    assert renamed.folder.name == "Clients/Büro & 北"
    names = {folder.name: folder.ref for folder in await mailbox.folders()}
    assert {"Clients", "Clients/Büro & 北", "Clients/Büro & 北/2026"} <= names.keys()
    assert not {"Clients/North", "Clients/North/2026"} & names.keys()
    assert names["Clients/Büro & 北"] == renamed.folder.ref == renamed.refs.get(made.ref, made.ref)
    assert names["Clients/Büro & 北/2026"] == renamed.refs.get(below.ref, below.ref)

    before = [first.new_ref or refs[0], second.new_ref or refs[1]]
    follows = isinstance(mailbox, FolderInRefs)
    after = [mailbox.ref_after_rename(ref, renamed.refs) if follows else ref for ref in before]
    rows = await mailbox.envelopes(after)
    if rig.numbers_end_with_a_rename:
        assert rows == [None, None]  # rather than other messages
        return
    assert [row and row.folder for row in rows] == ["Clients/Büro & 北", "Clients/Büro & 北/2026"]
    assert [row.ref for row in (await listed(account, "Clients/Büro & 北")).items] == after[:1]


@pytest.mark.needs("can_rename_folder")
async def test_a_name_that_is_taken_is_a_conflict_and_renames_nothing(mailbox: Any) -> None:
    made = await mailbox.create_folder("Receipts")
    await mailbox.create_folder("Bills")
    before = [folder.name for folder in await mailbox.folders()]
    with pytest.raises(Conflict):
        await mailbox.rename_folder(made.ref, "Bills")
    for wrong in ("", "a/b", "a\r\nb", "a" * 256):
        with pytest.raises(InvalidRequest, match="folder name"):
            await mailbox.rename_folder(made.ref, wrong)
    assert [folder.name for folder in await mailbox.folders()] == before


@pytest.mark.needs("can_rename_folder")
async def test_a_folder_with_a_role_keeps_its_name(account: RigAccount, mailbox: Any) -> None:
    inbox = await folder_named(account, "inbox")
    with pytest.raises(Conflict):
        await mailbox.rename_folder(inbox.ref, "Elsewhere")
    assert (await folder_named(account, "inbox")).ref == inbox.ref


@pytest.mark.needs("can_rename_folder")
async def test_renaming_a_folder_that_is_gone_is_not_found(mailbox: Any) -> None:
    made = await mailbox.create_folder("Brief")
    await mailbox.delete_folder(made.ref)
    with pytest.raises(NotFound):
        await mailbox.rename_folder(made.ref, "Briefer")
