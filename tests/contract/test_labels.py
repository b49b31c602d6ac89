from __future__ import annotations

from typing import Any

import pytest

from postroom.model.errors import NotFound

from .mails import envelope_of, mail, searched
from .rigs import Rig, RigAccount, SeedMail

pytestmark = pytest.mark.needs("can_label")


@pytest.fixture
def mailbox(account: RigAccount) -> Any:
    return account.mailbox


async def test_a_new_label_is_made_applied_and_listed(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    first, second = await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"))])
    (result,) = await mailbox.apply_label([first], "errands/town")
    assert result.ok
    assert "errands/town" in await mailbox.labels()
    assert (await envelope_of(account, first)).labels == ("errands/town",)
    assert (await envelope_of(account, second)).labels == ()


async def test_several_labels_stay_side_by_side(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"), labels=("red",))])
    await mailbox.apply_label([ref], "blue")
    assert set((await envelope_of(account, ref)).labels) == {"red", "blue"}


async def test_applying_a_label_twice_leaves_it_once(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    for _ in range(2):
        (result,) = await mailbox.apply_label([ref], "errand")
        assert result.ok
    assert (await envelope_of(account, ref)).labels == ("errand",)


async def test_a_removed_label_is_gone_and_the_others_stay(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"), labels=("red", "blue"))])
    (result,) = await mailbox.remove_label([ref], "red")
    assert result.ok
    assert (await envelope_of(account, ref)).labels == ("blue",)


async def test_removing_a_label_a_mail_does_not_have_is_ok(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"), labels=("red",))])
    (result,) = await mailbox.remove_label([ref], "green")
    assert result.ok
    assert (await envelope_of(account, ref)).labels == ("red",)


async def test_a_label_of_a_missing_mail_fails_alone(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    results = await mailbox.apply_label([account.missing_ref, ref], "errand")
    assert [result.ok for result in results] == [False, True]
    assert isinstance(results[0].error, NotFound)


async def test_a_label_neither_moves_nor_reads_the_mail(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    before = await envelope_of(account, ref)
    await mailbox.apply_label([ref], "errand")
    after = await envelope_of(account, ref)
    assert (after.folder, after.unread, after.starred) == (before.folder, before.unread, before.starred)


async def test_a_labelled_mail_is_found_by_its_label(rig: Rig, account: RigAccount, mailbox: Any) -> None:
    first, _ = await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"))])
    await mailbox.apply_label([first], "receipts")
    await rig.settle()
    assert [row.ref for row in (await searched(account, "label:receipts")).items] == [first]
