from __future__ import annotations

from typing import Any

import pytest

from postroom.model.errors import NotFound, PermissionDenied

from .mails import PDF, envelope_of, listed, mail, message_id
from .rigs import Rig, RigAccount, SeedMail

pytestmark = pytest.mark.needs("can_draft")


@pytest.fixture
def mailbox(account: RigAccount) -> Any:
    return account.mailbox


async def test_a_created_draft_is_listed_and_marked_as_draft(account: RigAccount, mailbox: Any) -> None:
    saved = await mailbox.create_draft(mail("plan", subject="The plan", text="Step one.", sender=account.address))
    page = await mailbox.list_drafts(limit=10, offset=0)
    ((listed_draft, row),) = page.items
    assert listed_draft == saved
    assert (row.ref, row.subject, row.draft) == (saved.message_ref, "The plan", True)
    assert page.total in (1, None)
    assert (await mailbox.fetch(saved.message_ref)).body.text.strip() == "Step one."
    assert [row.ref for row in (await listed(account, "drafts")).items] == [saved.message_ref]


async def test_a_draft_keeps_its_blind_copies(account: RigAccount, mailbox: Any) -> None:
    saved = await mailbox.create_draft(mail("quiet", sender=account.address, bcc="hidden@friends.example"))
    assert [address.email for address in (await envelope_of(account, saved.message_ref)).bcc] == [
        "hidden@friends.example"
    ]


async def test_a_created_draft_can_be_found_again(account: RigAccount, mailbox: Any) -> None:
    saved = await mailbox.create_draft(mail("plan", sender=account.address))
    assert await mailbox.find_draft(saved.ref) == saved


async def test_an_update_replaces_the_draft_and_leaves_one(account: RigAccount, mailbox: Any) -> None:
    saved = await mailbox.create_draft(mail("plan", text="Step one.", sender=account.address))
    updated = await mailbox.update_draft(saved.ref, mail("plan", text="Step two.", sender=account.address))
    assert (await mailbox.fetch(updated.message_ref)).body.text.strip() == "Step two."
    page = await mailbox.list_drafts(limit=10, offset=0)
    assert [item[0] for item in page.items] == [updated]
    assert len((await listed(account, "drafts")).items) == 1
    assert await mailbox.find_draft(updated.ref) == updated


async def test_a_change_shows_in_the_ref_of_a_draft_or_in_its_version(account: RigAccount, mailbox: Any) -> None:
    saved = await mailbox.create_draft(mail("plan", sender=account.address))
    before = await mailbox.find_draft(saved.ref)
    assert (await mailbox.find_draft(saved.ref)).version == before.version
    updated = await mailbox.update_draft(saved.ref, mail("another plan", sender=account.address))
    after = await mailbox.find_draft(updated.ref)
    assert (after.ref, after.version) != (before.ref, before.version)


async def test_an_updated_reply_keeps_thread_and_attachment(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    (ref,) = await rig.seed([SeedMail(mail("root", subject="Roof", days_ago=3))])
    thread_ref = (await envelope_of(account, ref)).thread_ref

    def reply(text: str) -> bytes:
        return mail(
            "reply", subject="Re: Roof", text=text, sender=account.address, answers=["root"], files=[("plan.pdf", PDF)]
        )

    saved = await mailbox.create_draft(reply("One."), thread_ref=thread_ref)
    updated = await mailbox.update_draft(saved.ref, reply("Two."), thread_ref=thread_ref)
    message = await mailbox.fetch(updated.message_ref)
    assert message.envelope.in_reply_to == message_id("root")
    assert [attachment.filename for attachment in message.attachments] == ["plan.pdf"]
    assert await mailbox.fetch_part(updated.message_ref, message.attachments[0].part) == PDF
    if account.capabilities.has_threading:
        assert [row.ref for row in await mailbox.thread(updated.thread_ref)] == [ref, updated.message_ref]


async def test_a_deleted_draft_is_gone_and_the_others_stay(account: RigAccount, mailbox: Any) -> None:
    keep = await mailbox.create_draft(mail("keep", sender=account.address))
    drop = await mailbox.create_draft(mail("drop", sender=account.address))
    await mailbox.delete_draft(drop.ref)
    assert [item[0] for item in (await mailbox.list_drafts(limit=10, offset=0)).items] == [keep]
    with pytest.raises(NotFound):
        await mailbox.find_draft(drop.ref)
    with pytest.raises(NotFound):
        await mailbox.delete_draft(drop.ref)
    with pytest.raises(NotFound):
        await mailbox.update_draft(drop.ref, mail("drop", sender=account.address))


async def test_what_is_no_draft_is_neither_updated_nor_deleted(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    raw = mail("letter", text="Do not touch.")
    (ref,) = await rig.seed([SeedMail(raw)])
    with pytest.raises((PermissionDenied, NotFound)):
        await mailbox.update_draft(ref, mail("letter", text="Touched."))
    with pytest.raises((PermissionDenied, NotFound)):
        await mailbox.delete_draft(ref)
    assert (await mailbox.fetch(ref)).body.text.strip() == "Do not touch."
    assert len((await listed(account, "inbox")).items) == 1


async def test_drafts_come_in_pages(account: RigAccount, mailbox: Any) -> None:
    made = [await mailbox.create_draft(mail(f"d{n}", sender=account.address, days_ago=n)) for n in range(5)]
    pages = [await mailbox.list_drafts(limit=2, offset=offset) for offset in (0, 2, 4)]
    assert {item[0].ref for page in pages for item in page.items} == {draft.ref for draft in made}
    assert [(len(page.items), page.has_more) for page in pages] == [(2, True), (2, True), (1, False)]


async def test_no_drafts_are_an_empty_page(mailbox: Any) -> None:
    page = await mailbox.list_drafts(limit=10, offset=0)
    assert (page.items, page.has_more) == ((), False)
