from __future__ import annotations

import pytest

from postroom.model.errors import NotFound
from postroom.providers.protocol import IdLookup

from .mails import envelope_of, listed, mail, message_id
from .rigs import Rig, RigAccount, SeedMail

pytestmark = pytest.mark.needs("has_threading")


def conversation() -> list[SeedMail]:
    return [
        SeedMail(mail("root", subject="Roof", days_ago=9)),
        SeedMail(
            mail("mine", subject="Re: Roof", sender="me@demo.example", days_ago=8, answers=["root"]), folder="sent"
        ),
        SeedMail(mail("back", subject="Re: Roof", days_ago=7, answers=["root", "mine"])),
    ]


async def test_a_thread_holds_every_folders_mails_oldest_first(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed([*conversation(), SeedMail(mail("other", subject="Gutter"))])
    thread = await account.mailbox.thread((await envelope_of(account, refs[1])).thread_ref)
    assert [row.ref for row in thread] == refs[:3]
    assert len({row.thread_ref for row in thread}) == 1


async def test_a_listing_names_the_thread_of_each_mail(rig: Rig, account: RigAccount) -> None:
    await rig.seed([*conversation(), SeedMail(mail("other", subject="Gutter"))])
    rows = {row.message_id.split("@")[0][1:]: row.thread_ref for row in (await listed(account, "inbox")).items}
    assert rows["root"] == rows["back"]
    assert rows["other"] != rows["root"]


async def test_a_thread_of_one_is_that_mail(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("alone"))])
    thread = await account.mailbox.thread((await envelope_of(account, ref)).thread_ref)
    assert [row.ref for row in thread] == [ref]


async def test_a_moved_mail_stays_in_its_thread(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed(conversation())
    archive = next(folder for folder in await account.mailbox.folders() if folder.role == "archive")
    (moved,) = await account.mailbox.move([refs[0]], archive.ref)
    thread = await account.mailbox.thread((await envelope_of(account, refs[2])).thread_ref)
    assert [row.ref for row in thread] == [moved.new_ref or refs[0], *refs[1:]]


@pytest.mark.needs("can_draft")
async def test_a_reply_draft_belongs_to_the_thread_it_answers(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed(conversation())
    thread_ref = (await envelope_of(account, refs[2])).thread_ref
    raw = mail("reply", subject="Re: Roof", sender=account.address, days_ago=0, answers=["root", "mine", "back"])
    saved = await account.mailbox.create_draft(raw, thread_ref=thread_ref)  # type: ignore[attr-defined]
    thread = await account.mailbox.thread(saved.thread_ref)
    assert [row.ref for row in thread] == [*refs, saved.message_ref]


async def test_an_unknown_thread_is_not_found(account: RigAccount) -> None:
    with pytest.raises(NotFound):
        await account.mailbox.thread(account.missing_ref)


async def test_a_mail_is_found_by_its_id_from_the_mail_that_names_it(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed([*conversation(), SeedMail(mail("other", subject="Gutter"))])
    lookup = account.mailbox
    if not isinstance(lookup, IdLookup):
        pytest.skip("this provider cannot look for a Message-ID")
    found = await lookup.mails_with_ids([message_id("mine"), message_id("root"), message_id("absent")], near=refs[2])
    assert {row.ref for row in found} == set(refs[:2])
    assert await lookup.mails_with_ids([message_id("absent"), "<ROO"], near=refs[2]) == []
    assert await lookup.mails_with_ids([], near=refs[2]) == []
