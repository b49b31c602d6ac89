"""Servers that count from a lower number again: their index was removed or repaired, or the mailbox restored from a
backup, under the same UIDVALIDITY. What they then report as changed is not all, and a number may mean another message.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.peers.accounts import letter, opened
from tests.peers.lying_imap import LyingImap, lying_imap
from tests.unit.sync.checking import same
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.lied_to import account_of, subjects
from tests.unit.sync.second_client import SecondClient

from postroom.model.ids import Kind
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["full", "headers"])


@pytest.fixture
def handles(tmp_path: Path) -> Handles:
    return Handles(Database(tmp_path / "state.db"))


async def sync(liar: LyingImap, mirror: Mirror, handles: Handles, mode: str = "full") -> None:
    account = account_of(liar, mirror=mode)
    async with opened(account) as mailbox, Syncing(mirror, mailbox, account, Tools(handles)) as syncing:
        assert (await syncing.once()).complete


def ref_of(mirror: Mirror, subject: str) -> str:
    with mirror.snapshot() as connection:
        (ref,) = connection.execute("SELECT ref FROM mail WHERE subject = ?", (subject,)).fetchone()
        return str(ref)


def forget(liar: LyingImap, *, modseq: int = 1) -> None:
    """It no longer knows what changed when."""
    box = liar.boxes[b"INBOX"]
    box.modseq = modseq
    for mail in box.mails:
        mail.modseq = 1


async def test_changes_beside_an_index_that_was_removed_are_all_found(mirrored: Mirrored) -> None:
    second = SecondClient(mirrored, random.Random(3))
    with mirrored.client() as client:
        for _ in range(5):
            second.append(client)
        client.select("INBOX")
        for sign in "+-" * 20:
            client.store("1:*", f"{sign}FLAGS.SILENT", "(\\Flagged)")
    await mirrored.sync()
    mirrored.dovecot.doveadm("kick", mirrored.user)
    for path in mirrored.dovecot.maildir(mirrored.user).rglob("dovecot.index*"):
        path.unlink()
    with mirrored.client() as client:
        second.append(client)
        client.select("INBOX")
        client.store("1", "+FLAGS.SILENT", "(\\Deleted)")
        client.store("2", "+FLAGS.SILENT", "(\\Answered)")
        client.expunge()
    await mirrored.sync()
    same(mirrored, second.everything())


@pytest.mark.parametrize("modseq", [1, 90], ids=["counts from 1", "counted on"])
async def test_a_message_that_is_not_reported_is_noticed_by_the_number_of_messages(
    liar: LyingImap, mirror: Mirror, handles: Handles, modseq: int
) -> None:
    liar.boxes[b"INBOX"].modseq = 80
    await sync(liar, mirror, handles)
    liar.put(letter("letter4"))
    forget(liar, modseq=modseq)
    await sync(liar, mirror, handles)
    assert subjects(mirror) == {"letter1", "letter2", "letter3", "letter4"}
    del liar.boxes[b"INBOX"].mails[:2]
    forget(liar, modseq=modseq + 1)
    await sync(liar, mirror, handles)
    assert subjects(mirror) == {"letter3", "letter4"}


async def test_a_message_that_is_gone_is_noticed_where_a_new_one_makes_up_for_it(
    liar: LyingImap, mirror: Mirror, handles: Handles
) -> None:
    liar.boxes[b"INBOX"].modseq = 80
    await sync(liar, mirror, handles)
    forget(liar, modseq=90)
    del liar.boxes[b"INBOX"].mails[0]
    liar.put(letter("letter4"))
    await sync(liar, mirror, handles)
    assert subjects(mirror) == {"letter2", "letter3", "letter4"}


@MODES
@pytest.mark.parametrize("arrived", ["01-Jun-2026 10:00:00 +0000", "01-Jun-2099 10:00:00 +0000"], ids=["copied", "new"])
async def test_a_number_that_another_message_has_now_shows_that_one_and_its_handle_leads_nowhere(
    mirror: Mirror, handles: Handles, mode: str, arrived: str
) -> None:
    with lying_imap() as liar:
        liar.put(letter("letter1"), letter("letter2"))
        liar.boxes[b"INBOX"].modseq = 80
        await sync(liar, mirror, handles, mode)
        same_one, another = handles.issue(Kind.EMAIL, "mine", [ref_of(mirror, f"letter{number}") for number in (1, 2)])
        text = "It is longer than it was." if arrived.endswith("2026 10:00:00 +0000") else "Hello."
        liar.boxes[b"INBOX"].mails.pop()
        liar.put(letter("letter3", text=text))
        liar.boxes[b"INBOX"].mails[-1].arrived = arrived
        forget(liar)
        await sync(liar, mirror, handles, mode)
        assert subjects(mirror) == {"letter1", "letter3"}
        assert handles.resolve(same_one, Kind.EMAIL).ref == ref_of(mirror, "letter1")
        assert handles.resolve(another, Kind.EMAIL).ref != ref_of(mirror, "letter3")


@pytest.mark.parametrize("is_reset", [False, True], ids=["followed", "reset"])
async def test_a_message_with_the_number_of_one_that_is_gone_does_not_get_its_handle(
    mirror: Mirror, handles: Handles, is_reset: bool
) -> None:
    with lying_imap() as liar:
        liar.put(letter("letter1"), letter("letter2"))
        await sync(liar, mirror, handles)
        (handle,) = handles.issue(Kind.EMAIL, "mine", [ref_of(mirror, "letter2")])
        gone = liar.boxes[b"INBOX"].mails.pop()
        liar.boxes[b"INBOX"].modseq += 1
        await sync(liar, mirror, handles)
        if is_reset:
            mirror.ask_for_reset()
        liar.put(letter("letter3"))
        await sync(liar, mirror, handles)
        assert handles.resolve(handle, Kind.EMAIL).ref != ref_of(mirror, "letter3")
        liar.put(gone.raw, box=b"Sums")
        await sync(liar, mirror, handles)
        assert handles.resolve(handle, Kind.EMAIL).ref == ref_of(mirror, "letter2")
