"""What a decision to send rests on is asked of the server, however whole and fresh the mirror is; and how a send ended
is the server's word alone, whatever is wrong with the mirror."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.test_mirrored import Desk, desk

from postroom.model.errors import ProviderUnavailable
from postroom.model.outcome import SubmitOutcome, SubmitRequest, WireEnvelope
from postroom.model.query.tree import In, Query
from postroom.service.open_accounts import Account
from postroom.service.sending.acquaintances import acquainted
from postroom.service.writing.draft import load_draft
from postroom.sync.answering.mirrored import noticing_sends
from postroom.sync.file.mirror import Mirror

pytestmark = pytest.mark.anyio

MALLORY = "mallory@evil.example"


async def account(it: Desk) -> Account:
    def no_transport() -> Any:
        raise AssertionError("nothing is sent here")

    return Account(it.account, it.mailbox, await it.mailbox.connect(), no_transport)


def in_our_name(it: Desk) -> bytes:
    return (
        letter("forged")
        .replace(b"Ada <ada@friends.example>", it.account.address.encode())
        .replace(b"To: me@example.test", f"To: {MALLORY}".encode())
    )


async def test_a_copy_in_a_folder_without_a_mirror_still_makes_a_recipient_unknown(mirrored: Mirrored) -> None:
    mirrored.changes["mirror_leave_out"] = ("Archive",)
    async with desk(mirrored) as it:
        it.append(in_our_name(it), folder="Sent")
        it.append(in_our_name(it), folder="Archive")
        await mirrored.sync()
        gateway: Any = None  # asked only where the server marks no folder as Sent
        assert await acquainted(gateway, await account(it), [MALLORY]) == set()


async def test_nobody_is_known_on_the_word_of_a_mirror_whose_server_is_away(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(in_our_name(it), folder="Sent")
        await mirrored.sync()
        gateway: Any = None
        mine = await account(it)
        assert await acquainted(gateway, mine, [MALLORY]) == {MALLORY}
        it.take_the_server_away()
        assert await acquainted(gateway, mine, [MALLORY]) == set()


async def test_a_draft_is_not_sent_as_the_mirror_has_it(mirrored: Mirrored) -> None:
    async with desk(mirrored) as it:
        it.append(letter("idea"), folder="Drafts", flags="(\\Draft)")
        await mirrored.sync()
        (row,) = (await it.list(Query(In("Drafts")))).items
        mine = await account(it)
        saved = await mine.drafts.find_draft(row.ref)
        it.take_the_server_away()
        with pytest.raises(ProviderUnavailable):
            await load_draft(mine, saved)


def out_of_reach(folder: Path) -> Mirror:
    """The system itself refuses to look at a file of that name, like one in a folder that is not ours."""
    folder.mkdir(exist_ok=True)
    return Mirror(folder / f"{'m' * 300}.db")


class Accepting:
    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        return SubmitOutcome("accepted", request.envelope.recipients)

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        return SubmitOutcome("unknown")

    async def close(self) -> None:
        """Nothing is open."""


async def test_what_was_accepted_stays_so_where_the_mirror_cannot_be_told(tmp_path: Path) -> None:
    transport = noticing_sends(Accepting(), out_of_reach(tmp_path), "imap")
    envelope = WireEnvelope("me@example.test", ("ada@friends.example",))
    outcome = await transport.submit(SubmitRequest(envelope, b"", "<1@example.test>", "s0123456789"))
    assert (outcome.state, outcome.accepted) == ("accepted", envelope.recipients)


async def test_a_mirror_that_cannot_be_looked_at_is_no_error_for_a_reader(mirrored: Mirrored) -> None:
    mirrored.mirror = out_of_reach(mirrored.mirror.path.parent)
    async with desk(mirrored) as it:
        it.append(letter("one"))
        (row,) = (await it.list()).items
        assert (await it.mailbox.fetch(row.ref)).envelope.subject == "one"
        assert [result.ok for result in await it.mailbox.set_flags([row.ref], add=["read"])] == [True]
