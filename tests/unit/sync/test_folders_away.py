"""A folder that is not there for a moment, in the middle of a run: another program renames it, and renames it back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import letter
from tests.peers.lying_imap import LyingImap
from tests.unit.sync.lied_to import OPENING, about_it, account_of, subjects, synced

from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import by_folder
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio

MODES = [("full", "bulk"), ("headers", "envelopes"), ("headers", "identify")]


class Blinking(ImapMailbox):
    """Sums is away while a `verb` is carried out that asks for one of its messages, the one numbered `number`."""

    liar: LyingImap
    verb = ""
    number = 0

    async def bulk(self, folder_ref: str, epoch: str, numbers: Any, **given: Any) -> Any:
        async with self._away("bulk", folder_ref, numbers):
            async for batch in super().bulk(folder_ref, epoch, numbers, **given):
                yield batch

    async def identify(self, folder_ref: str, epoch: str, numbers: Any) -> Any:
        async with self._away("identify", folder_ref, numbers):
            return await super().identify(folder_ref, epoch, numbers)

    async def envelopes(self, refs: Any) -> Any:
        folder, _, last = str(refs[-1]).rpartition("|")
        async with self._away("envelopes", folder, [int(last)]):
            return await super().envelopes(refs)

    @asynccontextmanager
    async def _away(self, verb: str, folder: str, numbers: Any) -> AsyncIterator[None]:
        if (verb, folder[:4]) != (self.verb, "Sums") or self.number not in numbers:
            yield
            return
        self.verb = ""
        await self.newest("INBOX", 1)  # the only connection leaves the folder
        self.liar.refuses, self.liar.refusal = about_it(OPENING), b"NO [NONEXISTENT] no such folder"
        try:
            yield
        finally:
            self.liar.refuses = lambda _: False


async def run(liar: LyingImap, mirror: Mirror, mode: str, verb: str, number: int) -> bool:
    """Whether the mirror says that it is complete."""
    account = account_of(liar, mirror=mode, max_connections=1)
    mailbox = Blinking(account, ProviderContext(Path()))
    mailbox.liar, mailbox.verb, mailbox.number = liar, verb, number
    try:
        async with Syncing(mirror, mailbox, account) as syncing:
            status = await syncing.once()
            assert not mailbox.verb, "the folder was never away"
            return status.complete
    finally:
        await mailbox.close()


@pytest.mark.parametrize(("mode", "verb"), MODES)
async def test_a_folder_that_is_away_for_a_moment_of_the_first_fill_is_filled(
    liar: LyingImap, mirror: Mirror, mode: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_folder, "_FIRST_PAGE", 2)
    liar.put(*(letter(f"sum{number}") for number in (1, 2, 3, 4, 5)), box=b"Sums")
    assert await run(liar, mirror, mode, verb, 1)
    assert {f"sum{number}" for number in (1, 2, 3, 4, 5)} <= subjects(mirror)


@pytest.mark.parametrize(("mode", "verb"), MODES)
async def test_new_mail_in_a_folder_that_is_away_for_a_moment_is_there_after_the_next_look(
    liar: LyingImap, mirror: Mirror, mode: str, verb: str
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    await run(liar, mirror, mode, verb, 1)
    liar.put(letter("sum2"), box=b"Sums")
    await run(liar, mirror, mode, verb, 2)
    await run(liar, mirror, mode, "", 0)
    assert {"sum1", "sum2"} <= subjects(mirror)


async def test_up_to_where_changes_are_known_is_not_taken_from_another_folder_that_had_the_name_for_a_moment(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    await synced(liar, mirror)
    liar.lie = _listing_another_in_its_place
    await synced(liar, mirror)
    liar.lie = lambda _, lines: lines
    liar.put(letter("sum2"), box=b"Sums")
    await synced(liar, mirror)
    assert {"sum1", "sum2"} <= subjects(mirror)


def _listing_another_in_its_place(command: str, lines: list[bytes]) -> list[bytes]:
    if not command.startswith(("LIST", 'STATUS "Sums"', "STATUS Sums")):
        return lines
    told = rb"(Sums.*)UIDVALIDITY 7( HIGHESTMODSEQ \d+)?"
    return [re.sub(told, rb"\g<1>UIDVALIDITY 8 HIGHESTMODSEQ 1000", line) for line in lines]
