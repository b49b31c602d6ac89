from __future__ import annotations

import pytest

from postroom.model.errors import NotFound
from postroom.providers.protocol import MovedLookup

from .mails import envelope_of, folder_named, listed, mail, message_id
from .rigs import Rig, RigAccount, SeedMail


async def test_a_moved_mail_is_in_the_new_folder_and_in_no_other(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    archive = await folder_named(account, "archive")
    (result,) = await account.mailbox.move([ref], archive.ref)
    assert result.ok
    now = result.new_ref or ref
    assert (await envelope_of(account, now)).folder == archive.name
    assert [row.ref for row in (await listed(account, "archive")).items] == [now]
    assert (await listed(account, "inbox")).items == ()


async def test_moving_keeps_content_and_flags(rig: Rig, account: RigAccount) -> None:
    raw = mail("one", text="Keep every byte — ü.")
    (ref,) = await rig.seed([SeedMail(raw, flags=("read", "starred"))])
    (result,) = await account.mailbox.move([ref], (await folder_named(account, "archive")).ref)
    now = result.new_ref or ref
    row = await envelope_of(account, now)
    assert (row.unread, row.starred) == (False, True)
    assert (await account.mailbox.fetch(now)).body.text.strip() == "Keep every byte — ü."
    if account.capabilities.has_raw:
        assert (await account.mailbox.fetch_raw(now)).replace(b"\r\n", b"\n") == raw.replace(b"\r\n", b"\n")


async def test_moving_there_and_back_restores_the_inbox(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed([SeedMail(mail(key)) for key in ("first", "second")])
    away = await account.mailbox.move(refs, (await folder_named(account, "trash")).ref)
    back = await account.mailbox.move(
        [result.new_ref or result.ref for result in away], (await folder_named(account, "inbox")).ref
    )
    assert {row.ref for row in (await listed(account, "inbox")).items} == {r.new_ref or r.ref for r in back}
    assert (await listed(account, "trash")).items == ()


async def test_moving_a_mail_where_it_is_already_is_ok(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    (result,) = await account.mailbox.move([ref], (await folder_named(account, "inbox")).ref)
    assert result.ok
    assert [row.ref for row in (await listed(account, "inbox")).items] == [result.new_ref or ref]


async def test_a_missing_mail_fails_alone_and_the_others_are_moved(rig: Rig, account: RigAccount) -> None:
    first, second = await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"))])
    archive = await folder_named(account, "archive")
    results = await account.mailbox.move([first, account.missing_ref, second], archive.ref)
    assert [result.ref for result in results] == [first, account.missing_ref, second]
    assert [result.ok for result in results] == [True, False, True]
    assert isinstance(results[1].error, NotFound)
    assert len((await listed(account, "archive")).items) == 2


async def test_moving_leaves_unnamed_mails_alone(rig: Rig, account: RigAccount) -> None:
    keep, go = await rig.seed([SeedMail(mail("keep")), SeedMail(mail("go"))])
    await account.mailbox.move([go], (await folder_named(account, "trash")).ref)
    assert [row.ref for row in (await listed(account, "inbox")).items] == [keep]


async def test_an_old_ref_never_comes_to_mean_another_mail(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("old"))])
    await account.mailbox.move([ref], (await folder_named(account, "archive")).ref)
    await rig.seed([SeedMail(mail(f"new{n}")) for n in range(3)])
    (row,) = await account.mailbox.envelopes([ref])
    assert row is None or row.message_id == "<old@seed.example>"


async def test_what_came_into_a_folder_is_told_from_what_was_there(rig: Rig, account: RigAccount) -> None:
    mailbox = account.mailbox
    if not isinstance(mailbox, MovedLookup):
        pytest.skip("a mail keeps its ref when it is moved")
    seeded = [SeedMail(mail(key)) for key in ("one", "twin", "other")]
    refs = await rig.seed([*seeded, SeedMail(mail("twin"), folder="trash")])
    trash = await folder_named(account, "trash")
    await listed(account, "trash")  # the folder is open, and its numbers are known
    (former,) = await rig.seed([SeedMail(mail("one"), folder="trash")])
    ids = [message_id("one"), message_id("twin"), "<twi"]

    mark = await mailbox.folder_mark(trash.ref)
    assert await mailbox.came_since(trash.ref, mark, ids) == []
    await mailbox.move(refs[:3], trash.ref)

    found = await mailbox.came_since(trash.ref, mark, ids)
    assert {row.message_id for row in found} == set(ids[:2])
    assert not {row.ref for row in found} & {former, *refs}
    assert [row.ref for row in await mailbox.envelopes([row.ref for row in found]) if row] == [row.ref for row in found]
    assert await mailbox.came_since(trash.ref, await mailbox.folder_mark(trash.ref), ids) == []
    assert await mailbox.came_since(trash.ref, mark, []) == []
    assert await mailbox.came_since("Absent", mark, ids) == []
