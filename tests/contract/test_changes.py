"""What changed since a cursor was given: nothing is missed, nothing is told for ever."""

from __future__ import annotations

import pytest

from postroom.model.errors import CursorExpired

from .mails import folder_named, mail
from .rigs import Rig, RigAccount, SeedMail

pytestmark = pytest.mark.needs("has_delta")


async def told(account: RigAccount, cursor: str, limit: int = 100) -> tuple[set[str], set[str], str]:
    changed, removed = set[str](), set[str]()
    while True:
        page = await account.mailbox.changed_since(cursor, limit=limit)
        assert len(page.changed) + len(page.removed) <= limit or not page.has_more
        changed |= set(page.changed)
        removed |= set(page.removed)
        cursor = page.cursor
        if not page.has_more:
            return changed, removed, cursor


async def test_a_first_cursor_tells_of_nothing_that_was_there_before(rig: Rig, account: RigAccount) -> None:
    await rig.seed([SeedMail(mail("one"))])
    changed, removed, cursor = await told(account, "")
    assert (changed, removed) == (set(), set())
    assert await told(account, cursor) == (set(), set(), cursor)


async def test_a_new_a_flagged_and_a_moved_mail_are_told_once(rig: Rig, account: RigAccount) -> None:
    flagged, moved, _ = await rig.seed([SeedMail(mail(key)) for key in ("flagged", "moved", "quiet")])
    _, _, cursor = await told(account, "")
    (new,) = await rig.seed([SeedMail(mail("new"))])
    await account.mailbox.set_flags([flagged], add=["starred"])
    (result,) = await account.mailbox.move([moved], (await folder_named(account, "trash")).ref)
    changed, removed, cursor = await told(account, cursor)
    assert changed == {new, flagged, result.new_ref or moved}
    assert removed == ({moved} if result.new_ref else set())
    assert await told(account, cursor) == (set(), set(), cursor)


async def test_a_mail_that_is_gone_for_good_is_told_as_removed(rig: Rig, account: RigAccount) -> None:
    gone, _ = await rig.seed([SeedMail(mail("gone")), SeedMail(mail("kept"))])
    _, _, cursor = await told(account, "")
    await rig.remove([gone])
    assert (await told(account, cursor))[:2] == (set(), {gone})


async def test_many_changes_come_page_by_page(rig: Rig, account: RigAccount) -> None:
    _, _, cursor = await told(account, "")
    refs = await rig.seed([SeedMail(mail(f"m{number}")) for number in range(7)])
    changed, _, _ = await told(account, cursor, limit=3)
    assert changed == set(refs)


@pytest.mark.parametrize("cursor", ["no cursor", "99999999", "-1", "\0"])
async def test_a_cursor_that_is_not_known_asks_to_read_everything_anew(account: RigAccount, cursor: str) -> None:
    with pytest.raises(CursorExpired):
        await account.mailbox.changed_since(cursor, limit=10)
