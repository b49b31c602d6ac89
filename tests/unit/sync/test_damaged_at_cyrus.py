"""A process of Cyrus dies when it is asked for the text of a message whose file is empty: all others are listed and
mirrored nevertheless."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.peers.cyrus import PASSWORD, Cyrus
from tests.peers.raw_jmap import RawJmap
from tests.unit.sync.jmap_client import JmapClient
from tests.unit.sync.test_jmap_truth import opened, rows, synced

from postroom.model.errors import ProviderUnavailable
from postroom.model.query.tree import Query
from postroom.providers.layers.retry import Retry
from postroom.settings import JmapAccount
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file.mirror import Mirror

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def nobody_waits_between_two_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.providers.http.api.Retry", partial(Retry, first_wait=0.0))


def damage(cyrus: Cyrus, text: bytes) -> None:
    """Its file, and that of its upload."""
    files = [one for one in (cyrus.home / "spool").rglob("[0-9]*.") if text in one.read_bytes()]
    assert files
    for file in files:
        file.write_bytes(b"")


def account_of(cyrus: Cyrus) -> tuple[JmapAccount, JmapClient]:
    user = cyrus.new_user("damaged")
    second = JmapClient(RawJmap(cyrus.url, user, PASSWORD), random.Random(1))
    return JmapAccount(name="mine", address=user, session_url=cyrus.url, password=PASSWORD, mirror="full"), second


async def test_a_message_without_a_file_is_listed_and_mirrored_with_the_others(cyrus: Cyrus, tmp_path: Path) -> None:
    account, second = account_of(cyrus)
    for number in range(8):
        second._import(mail(f"m{number}", text=f"{account.address} {number}"))
    damage(cyrus, f"{account.address} 5".encode())
    mirror = Mirror(tmp_path / "mirrors" / "mine.db")
    async with opened(account, tmp_path) as mailbox:
        page = await mailbox.search(Query(anywhere=True), limit=20, offset=0)
        assert sorted(row.subject for row in page.items) == ["", *(f"Subject of m{n}" for n in range(8) if n != 5)]
        (bare,) = [row for row in page.items if not row.subject]
        assert [row.ref for row in await mailbox.thread(bare.thread_ref)] == [bare.ref]
        await synced(mirror, mailbox, account, Handles(Database(tmp_path / "state.db")))
    assert rows(mirror).keys() == {row.ref for row in page.items}
    assert mirror.status().complete


async def test_a_server_that_breaks_off_over_more_than_a_few_is_away(cyrus: Cyrus, tmp_path: Path) -> None:
    account, second = account_of(cyrus)
    for number in range(7):
        second._import(mail(f"m{number}", text=f"{account.address} {number}"))
        damage(cyrus, f"{account.address} {number}".encode())
    async with opened(account, tmp_path) as mailbox:
        with pytest.raises(ProviderUnavailable):
            await mailbox.search(Query(anywhere=True), limit=20, offset=0)
