"""What servers lack, or do differently, without saying so: seen at UW imapd, GNU Mailutils, pymap and hoodiecrow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.lying_imap import POOR, LyingImap, lying_imap

from postroom.model.errors import Unsupported
from postroom.model.query.tree import In, Query

pytestmark = pytest.mark.anyio

INBOX = Query(In("INBOX"))


@pytest.fixture
def frozen() -> Iterator[LyingImap]:
    with lying_imap(capability=POOR, freezes=True) as server:
        yield server


async def test_what_came_into_an_open_folder_is_listed_under_a_ref_that_lasts(frozen: LyingImap) -> None:
    async with opened(imap_account(frozen)) as mailbox:  # type: ignore[arg-type]
        assert (await mailbox.search(INBOX, limit=5, offset=0)).items == ()
        for number in (1, 2):
            frozen.put(letter(f"letter{number}"))
            page = await mailbox.search(INBOX, limit=5, offset=0)
            assert (page.total, {row.ref for row in page.items}) == (
                number,
                {f"INBOX|7|{n + 1}" for n in range(number)},
            )


async def test_what_left_an_open_folder_is_not_counted_any_more(frozen: LyingImap) -> None:
    frozen.put(letter("letter1"), letter("letter2"))
    async with opened(imap_account(frozen)) as mailbox:  # type: ignore[arg-type]
        await mailbox.search(INBOX, limit=5, offset=0)
        frozen.boxes[b"INBOX"].mails.pop(0)
        (inbox,) = await mailbox.folders()
        assert inbox.total == 1


async def test_the_order_of_an_open_folder_is_asked_for_once_while_it_has_the_same_messages(frozen: LyingImap) -> None:
    frozen.put(letter("letter1"), letter("letter2"))
    async with opened(imap_account(frozen)) as mailbox:  # type: ignore[arg-type]
        for _ in range(3):
            assert len((await mailbox.search(INBOX, limit=1, offset=0)).items) == 1
    assert sum(command.startswith("UID SEARCH") for command in frozen.heard) == 1


@pytest.mark.parametrize("changing", [False, True], ids=["for reading", "for writing"])
async def test_a_folder_is_left_without_the_command_that_may_expunge(changing: bool) -> None:
    with lying_imap(capability="IMAP4rev1") as liar:
        liar.put(letter("letter1"))
        async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
            if changing:
                await mailbox.set_flags(["INBOX|7|1"], add=["read"])
            await mailbox.search(INBOX, limit=5, offset=0)
            liar.put(letter("letter2"))
            liar.freezes = True
            (state,) = await mailbox.folder_states()
        assert state.folder.total == 2
        assert "CLOSE" not in liar.heard


async def test_a_folder_that_cannot_be_subscribed_to_is_made_all_the_same() -> None:
    with lying_imap(capability=POOR, refuses=lambda command: command.startswith("SUBSCRIBE")) as liar:
        async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
            made = await mailbox.create_folder("Sums/2026")
            assert made.ref in {folder.ref for folder in await mailbox.known_folders()}


async def test_a_server_without_idle_is_not_connected_to_again_and_again() -> None:
    with lying_imap(capability=POOR) as liar:
        async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
            with pytest.raises(Unsupported):
                await anext(mailbox.changes())
