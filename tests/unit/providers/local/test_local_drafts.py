from __future__ import annotations

from collections.abc import Callable

import pytest

from postroom.model.errors import NotFound, PermissionDenied
from postroom.model.query.tree import Is, Query, Text
from postroom.providers.local.provider import LocalMailbox

Raw = Callable[..., bytes]


async def test_a_draft_keeps_its_ref_thread_labels_and_star_when_it_is_changed(mailbox: LocalMailbox, raw: Raw) -> None:
    parent = await mailbox.add_message(raw(Message_ID="<parent@x>"))
    made = await mailbox.create_draft(raw("First", "alpha", In_Reply_To="<parent@x>"))
    await mailbox.set_flags([made.ref], add=["starred"])
    await mailbox.apply_label([made.ref], "later")
    changed = await mailbox.update_draft(made.ref, raw("Second", "beta"))
    assert changed == made
    (envelope,) = await mailbox.envelopes([made.ref])
    assert envelope is not None
    assert (envelope.subject, envelope.starred, envelope.labels, envelope.draft) == ("Second", True, ("later",), True)
    assert [one.ref for one in await mailbox.thread(made.thread_ref)] == [parent, made.ref]
    assert await mailbox.fetch_raw(made.ref) == raw("Second", "beta")


async def test_the_words_of_the_old_version_are_no_longer_found(mailbox: LocalMailbox, raw: Raw) -> None:
    made = await mailbox.create_draft(raw(body="alpha"))
    await mailbox.update_draft(made.ref, raw(body="beta", Date="Mon, 02 Mar 2026 12:00:00 +0000"))
    assert (await mailbox.search(Query(Text("alpha")), limit=5, offset=0)).total == 0
    assert (await mailbox.search(Query(Text("beta")), limit=5, offset=0)).total == 1
    assert (await mailbox.search(Query(Is("draft")), limit=5, offset=0)).total == 1


async def test_a_draft_joins_the_thread_it_is_told_and_ignores_one_that_is_not_there(
    mailbox: LocalMailbox, raw: Raw
) -> None:
    (first,) = await mailbox.envelopes([await mailbox.add_message(raw())])
    assert first is not None
    assert (await mailbox.create_draft(raw(), thread_ref=first.thread_ref)).thread_ref == first.thread_ref
    alone = await mailbox.create_draft(raw(), thread_ref="4711")
    assert alone.thread_ref not in ("4711", first.thread_ref)


async def test_drafts_are_listed_newest_first_in_pages(mailbox: LocalMailbox, raw: Raw) -> None:
    await mailbox.add_message(raw())
    made = [await mailbox.create_draft(raw(f"{number}")) for number in range(3)]
    page = await mailbox.list_drafts(limit=2, offset=0)
    assert [saved.ref for saved, _ in page.items] == [made[2].ref, made[1].ref]
    assert (page.total, page.has_more) == (3, True)


async def test_a_mail_that_is_no_draft_is_not_touched(mailbox: LocalMailbox, raw: Raw) -> None:
    ref = await mailbox.add_message(raw())
    await mailbox.move([ref], "Drafts")
    for attempt in (mailbox.update_draft(ref, raw("Other")), mailbox.delete_draft(ref), mailbox.find_draft(ref)):
        with pytest.raises(PermissionDenied, match="not a draft"):
            await attempt
    assert await mailbox.fetch_raw(ref) == raw()


@pytest.mark.parametrize("ref", ["", "77", "x", "\udc80"])
async def test_a_draft_that_is_not_there_is_not_found(mailbox: LocalMailbox, raw: Raw, ref: str) -> None:
    for attempt in (mailbox.update_draft(ref, raw()), mailbox.delete_draft(ref), mailbox.find_draft(ref)):
        with pytest.raises(NotFound):
            await attempt


async def test_a_draft_that_was_thrown_away_cannot_be_changed_until_it_is_back(mailbox: LocalMailbox, raw: Raw) -> None:
    made = await mailbox.create_draft(raw())
    await mailbox.move([made.ref], "Trash")
    with pytest.raises(NotFound, match="moved out of Drafts"):
        await mailbox.find_draft(made.ref)
    assert (await mailbox.list_drafts(limit=5, offset=0)).total == 0
    await mailbox.move([made.ref], "Drafts")
    assert await mailbox.find_draft(made.ref) == made


async def test_a_deleted_draft_leaves_nothing(mailbox: LocalMailbox, raw: Raw) -> None:
    made = await mailbox.create_draft(raw(body="secret plan"))
    await mailbox.delete_draft(made.ref)
    assert (await mailbox.search(Query(Text("secret"), anywhere=True), limit=5, offset=0)).total == 0
    with pytest.raises(NotFound):
        await mailbox.fetch_raw(made.ref)
