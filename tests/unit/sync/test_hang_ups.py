"""A message over which the server hangs up: a file that Dovecot cannot read makes it close the connection."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.peers.accounts import letter
from tests.peers.dovecot import Dovecot
from tests.peers.faultproxy import faulty
from tests.peers.lying_imap import lying_imap
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.lied_to import synced

from postroom.model.errors import ProviderUnavailable
from postroom.providers.imap.sync import bulk
from postroom.sync.file.mirror import Mirror

pytestmark = pytest.mark.anyio


def put(mirrored: Mirrored, *subjects: str, folder: str = "INBOX") -> None:
    with mirrored.client() as client:
        for subject in subjects:
            client.append(folder, "", None, letter(subject, text=f"About {subject}."))
        client.select(folder)  # from here on the files keep their names


def files(mirrored: Mirrored, folder: str = "") -> list[Path]:
    """Of the messages, in the order in which they came: their names begin with seconds and microseconds."""
    assert isinstance(mirrored.dovecot, Dovecot)
    place = mirrored.dovecot.maildir(mirrored.user) / folder
    return sorted((place / "cur").iterdir(), key=lambda file: [int(part) for part in re.findall(r"\d+", file.name)[:2]])


@contextmanager
def unreadable(mirrored: Mirrored, wanted: Sequence[Path]) -> Iterator[None]:
    assert isinstance(mirrored.dovecot, Dovecot)
    mirrored.dovecot.doveadm("kick", mirrored.user)  # what a connection has open it can still read
    for file in wanted:
        os.chmod(file, 0)
    try:
        yield
    finally:
        for file in wanted:
            os.chmod(file, 0o600)


def subjects(mirrored: Mirrored) -> list[str]:
    return sorted(row.subject for row in mirrored.rows().values())


async def test_all_others_are_mirrored_in_order_and_the_folders_after_it_too(mirrored: Mirrored) -> None:
    put(mirrored, *(f"m{number:02}" for number in range(20)))
    put(mirrored, "elsewhere", folder="Archive")
    found = files(mirrored)
    with unreadable(mirrored, [found[3], found[11]]):
        await mirrored.sync()
    others = [f"m{number:02}" for number in range(20) if number not in (3, 11)]
    assert subjects(mirrored) == ["", "", "elsewhere", *others]
    status = mirrored.mirror.status()
    assert (status.complete, status.refusals, status.last_error) == (True, "", "")


async def test_a_message_of_which_only_flags_are_told_is_there_too(mirrored: Mirrored) -> None:
    put(mirrored, "one", "two", "three")
    odd = files(mirrored)[1]
    bare = odd.with_name(odd.name.partition(",S=")[0])  # without its size, which then has to be counted
    odd.rename(bare)
    with unreadable(mirrored, [bare]):
        await mirrored.sync()
        assert subjects(mirrored) == ["", "one", "three"]


async def test_new_mail_comes_in_beside_one_that_cannot_be_read(mirrored: Mirrored) -> None:
    put(mirrored, "old")
    await mirrored.sync()
    put(mirrored, "bad")
    with unreadable(mirrored, files(mirrored)[-1:]):
        await mirrored.sync()
        put(mirrored, "new")
        await mirrored.sync()
    assert subjects(mirrored) == ["", "new", "old"]


@pytest.mark.parametrize("count", [1, 8])
async def test_a_folder_without_a_message_that_can_be_read_is_refused_and_heals(mirrored: Mirrored, count: int) -> None:
    put(mirrored, *(f"m{number}" for number in range(count)), folder="Archive")
    put(mirrored, "new")
    with unreadable(mirrored, files(mirrored, ".Archive")):
        await mirrored.sync()
        assert subjects(mirrored) == ["new"]
        assert mirrored.mirror.status().refusals.startswith("Archive: ")
    await mirrored.sync()
    assert subjects(mirrored) == [*(f"m{number}" for number in range(count)), "new"]
    assert mirrored.mirror.status().refusals == ""


async def test_a_server_that_is_gone_in_the_middle_leaves_no_empty_messages(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(mirrored, *(f"m{number}" for number in range(8)))
    with faulty(mirrored.dovecot.imap) as proxy:
        mirrored.changes["port"] = proxy.port
        fetch = bulk._fetch

        def gone(*args: object) -> object:
            proxy.reset(cut_before_client=b" ")
            proxy.cut_all()
            return fetch(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(bulk, "_fetch", gone)
        with pytest.raises(ProviderUnavailable):
            await mirrored.sync()
    assert subjects(mirrored) == []


@pytest.mark.parametrize(
    "last_words", [b"* BYE [LIMIT] later\r\n", b"* BYE Account exceeded its bandwidth\r\n", b"* BYE Shutting down.\r\n"]
)
async def test_a_server_that_hangs_up_for_a_limit_of_the_account_is_not_asked_for_halves(
    last_words: bytes, tmp_path: Path
) -> None:
    with lying_imap(hangs_up=lambda command: last_words if "BODY.PEEK[]" in command else None) as liar:
        for folder in (b"INBOX", b"Work", b"Sums"):
            liar.put(*(letter(f"m{number}") for number in range(20)), box=folder)
        with pytest.raises(ProviderUnavailable):
            await synced(liar, mirror := Mirror(tmp_path / "mirrors" / "mine.db"))
        asked = {command for command in liar.heard if "BODY.PEEK[]" in command}
    assert len(asked) == 1
    assert mirror.status().refusals == ""
