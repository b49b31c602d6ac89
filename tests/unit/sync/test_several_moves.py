"""A message that another program moves on before the mirror has seen that it is no longer where it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.peers.accounts import letter, opened
from tests.peers.lying_imap import Box, LyingImap, lying_imap
from tests.unit.sync.lied_to import OPENING, about_it, account_of, refs

from postroom.model.ids import Kind
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio


async def look(liar: LyingImap, mirror: Mirror, handles: Handles, *, refused: str = "Nothing") -> None:
    liar.refuses, liar.refusal = about_it(OPENING, refused), b"NO [INUSE] another program has it"
    account = account_of(liar)
    async with opened(account) as mailbox, Syncing(mirror, mailbox, account, Tools(handles)) as syncing:
        await syncing.once()


def move(liar: LyingImap, source: bytes, target: bytes) -> None:
    (mail,) = liar.boxes[source].mails
    liar.boxes[source].mails.clear()
    liar.boxes[source].modseq += 1
    liar.put(mail.raw, box=target)


async def test_a_handle_follows_through_a_folder_in_which_the_message_was_seen_on_its_way(tmp_path: Path) -> None:
    mirror, handles = Mirror(tmp_path / "mirrors" / "mine.db"), Handles(Database(tmp_path / "state.db"))
    with lying_imap(capability="IMAP4rev1 UIDPLUS MOVE UNSELECT") as liar:
        liar.boxes |= {b"Sorted": Box(validity=8), b"Sums": Box(validity=9)}
        liar.put(letter("letter1"))
        await look(liar, mirror, handles)
        (handle,) = handles.issue(Kind.EMAIL, "mine", sorted(refs(mirror)))
        move(liar, b"INBOX", b"Sorted")
        await look(liar, mirror, handles, refused="INBOX")
        move(liar, b"Sorted", b"Sums")
        await look(liar, mirror, handles, refused="(INBOX|Sorted)")
        await look(liar, mirror, handles)
        assert refs(mirror) == {handles.resolve(handle, Kind.EMAIL).ref}
