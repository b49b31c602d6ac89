from __future__ import annotations

import pytest

from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.query.tree import In, Query
from postroom.providers.protocol import BatchFetch

from .mails import listed, mail
from .rigs import Rig, RigAccount, SeedMail

ODD_REFS = ["no-such-ref", "", "'; DROP TABLE mails; --", "🎉" * 40, "../../etc/passwd", "9" * 400]


@pytest.fixture(params=[None, *ODD_REFS], ids=["well-formed", *(ref[:12] or "empty" for ref in ODD_REFS)])
def stale(request: pytest.FixtureRequest, account: RigAccount) -> str:
    return account.missing_ref if request.param is None else request.param


async def test_a_stale_ref_is_not_found_whatever_is_read(account: RigAccount, stale: str) -> None:
    with pytest.raises(NotFound):
        await account.mailbox.fetch(stale)
    if account.capabilities.has_raw:
        with pytest.raises(NotFound):
            await account.mailbox.fetch_raw(stale)
    if isinstance(account.mailbox, BatchFetch):
        assert await account.mailbox.fetch_many([stale]) == [None]
    with pytest.raises(NotFound):
        await account.mailbox.fetch_part(stale, "2")
    assert await account.mailbox.envelopes([stale]) == [None]


async def test_a_stale_ref_fails_in_its_own_item(rig: Rig, account: RigAccount, stale: str) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    results = await account.mailbox.set_flags([stale, ref], add=["read"])
    assert [result.ok for result in results] == [False, True]
    assert isinstance(results[0].error, NotFound)


async def test_an_unknown_part_is_not_found(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one", files=[("a.bin", b"x")]))])
    with pytest.raises(NotFound):
        await account.mailbox.fetch_part(ref, "77")


async def test_moving_into_an_unknown_folder_is_not_found_and_moves_nothing(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one"))])
    with pytest.raises(NotFound):
        await account.mailbox.move([ref], "no-such-folder")
    assert [row.ref for row in (await listed(account, "inbox")).items] == [ref]


async def test_searching_an_unknown_folder_is_not_found_naming_what_to_do(account: RigAccount) -> None:
    with pytest.raises((NotFound, InvalidRequest)) as caught:
        await account.mailbox.search(Query(In("no-such-folder")), limit=10, offset=0)
    assert "folder" in caught.value.message.lower()


async def test_error_messages_hold_no_mail_content(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("one", subject="CANARYSUBJECT", text="CANARYBODY"))])
    with pytest.raises(NotFound) as caught:
        await account.mailbox.fetch_part(ref, "77")
    assert "CANARY" not in f"{caught.value.message} {caught.value.details}"


async def test_an_empty_batch_does_nothing(rig: Rig, account: RigAccount) -> None:
    await rig.seed([SeedMail(mail("one"))])
    inbox = next(folder for folder in await account.mailbox.folders() if folder.role == "inbox")
    assert await account.mailbox.set_flags([], add=["read"]) == []
    assert await account.mailbox.move([], inbox.ref) == []
