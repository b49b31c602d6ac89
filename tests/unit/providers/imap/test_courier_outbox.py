"""A Courier that sends what is put into a folder: nothing is put there, whichever way leads to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.courier import Courier, running_courier
from tests.peers.raw_imap import raw_imap

from postroom.model.errors import PermissionDenied
from postroom.providers.imap.session.client import Session

pytestmark = pytest.mark.anyio


@pytest.fixture
def sending() -> Iterator[Courier]:
    with running_courier(outbox=".Leaving") as server:
        yield server


async def test_a_draft_that_is_moved_there_is_not_sent(sending: Courier) -> None:
    async with opened(imap_account(sending)) as mailbox:
        saved = await mailbox.create_draft(letter("what was in the mail"))
        leaving, other = await mailbox.create_folder("Leaving"), await mailbox.create_folder("Staying")
        (result,) = await mailbox.move([saved.message_ref], leaving.ref)
        assert isinstance(result.error, PermissionDenied)
        assert sending.left() == []
        (result,) = await mailbox.move([saved.message_ref], other.ref)
        assert result.ok


def test_nothing_is_saved_there(sending: Courier) -> None:
    session = Session(imap_account(sending))
    try:
        session.create_folder("INBOX.Leaving")
        for name in ("INBOX.Leaving", "inbox.Leaving"):
            with pytest.raises(PermissionDenied, match="nothing is sent without the gate"):
                session.append(name, letter("a draft"), ["\\Draft"])
        assert sending.left() == []
    finally:
        session.abort()


def test_what_another_program_puts_there_is_sent(sending: Courier) -> None:
    """Otherwise the tests above would hold on any server."""
    content = letter("a letter")
    with raw_imap(sending.imap, sending.new_user()) as client:
        client.ask("CREATE INBOX.Leaving")
        answer = client.ask(f"APPEND INBOX.Leaving {{{len(content)}}}", content)
    assert (answer[-1][:2], len(sending.left())) == ("OK", 1)
