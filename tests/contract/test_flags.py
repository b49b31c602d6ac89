from __future__ import annotations

import pytest

from postroom.model.errors import NotFound, Unsupported
from postroom.model.query.tree import Flag

from .mails import envelope_of, mail, searched
from .rigs import Rig, RigAccount, SeedMail


@pytest.mark.parametrize(
    ("before", "claim", "unread", "starred"),
    [
        ((), "read", False, False),
        (("read",), "unread", True, False),
        ((), "starred", True, True),
        (("starred",), "unstarred", True, False),
        (("read",), "read", False, False),
        (("starred",), "starred", True, True),
    ],
)
async def test_a_flag_is_what_was_claimed_last(
    rig: Rig, account: RigAccount, before: tuple[Flag, ...], claim: Flag, unread: bool, starred: bool
) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"), flags=before)])
    (result,) = await account.mailbox.set_flags([ref], add=[claim])
    assert result.ok
    row = await envelope_of(account, result.new_ref or ref)
    assert (row.unread, row.starred) == (unread, starred)


async def test_two_claims_are_set_in_one_call(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    await account.mailbox.set_flags([ref], add=["read", "starred"])
    row = await envelope_of(account, ref)
    assert (row.unread, row.starred) == (False, True)


async def test_flags_touch_only_the_named_mails(rig: Rig, account: RigAccount) -> None:
    first, second, third = await rig.seed([SeedMail(mail(key)) for key in ("first", "second", "third")])
    await account.mailbox.set_flags([first, third], add=["read"])
    rows = await account.mailbox.envelopes([first, second, third])
    assert [row and row.unread for row in rows] == [False, True, False]


async def test_each_item_of_a_batch_is_answered_in_order_and_a_missing_one_fails_alone(
    rig: Rig, account: RigAccount
) -> None:
    first, second = await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"))])
    results = await account.mailbox.set_flags([first, account.missing_ref, second], add=["read"])
    assert [result.ref for result in results] == [first, account.missing_ref, second]
    assert [result.ok for result in results] == [True, False, True]
    assert isinstance(results[1].error, NotFound)
    assert not (await envelope_of(account, second)).unread


async def test_a_search_sees_a_changed_flag(rig: Rig, account: RigAccount) -> None:
    first, second = await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"))])
    await account.mailbox.set_flags([first], add=["read", "starred"])
    await rig.settle()
    assert [row.ref for row in (await searched(account, "is:unread")).items] == [second]
    assert [row.ref for row in (await searched(account, "is:starred")).items] == [first]


@pytest.mark.parametrize("claim", ["answered", "forwarded"])
async def test_a_mail_can_be_marked_as_dealt_with_and_is_found_by_it(
    rig: Rig, account: RigAccount, claim: Flag
) -> None:
    first, second = await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"))])
    (result,) = await account.mailbox.set_flags([first], add=[claim])
    if isinstance(result.error, Unsupported):
        pytest.skip("this server keeps no such mark")
    assert result.ok
    await rig.settle()
    rows = await account.mailbox.envelopes([first, second])
    assert [row and (row.answered, row.forwarded) for row in rows] == [
        (claim == "answered", claim == "forwarded"),
        (False, False),
    ]
    assert all(row is not None and row.labels == () for row in rows)
    assert [row.ref for row in (await searched(account, f"is:{claim}")).items] == [first]
