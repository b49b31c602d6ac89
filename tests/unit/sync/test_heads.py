"""The newest part of a folder, which a mirror without numbers has while it is filled: how far it goes, and when it does
not count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import letter
from tests.peers.memory_mailbox import LabelMailbox

from postroom.model.address import Address
from postroom.model.errors import ProviderUnavailable
from postroom.model.message import Envelope
from postroom.model.query.tree import In, Query
from postroom.settings import RestAccount
from postroom.sync.answering.mirrored import MirrorLayer, mirrored
from postroom.sync.file.mirror import Mirror
from postroom.sync.file.status import note_fact
from postroom.sync.following import by_listing
from postroom.sync.following.pages import Head
from postroom.sync.following.syncing import Syncing
from postroom.sync.tables.walking import CURSOR

pytestmark = pytest.mark.anyio

LATEST = datetime(2026, 6, 1, tzinfo=UTC)


def rows(*days: int) -> list[Envelope]:
    """One for each day before the latest, which is also its name."""
    return [
        Envelope(ref=f"m{day}", thread_ref="", folder="INBOX", sender=Address("a@b.example"), to=(), subject="",
                 date=LATEST - timedelta(days=day), snippet="", unread=True, starred=False, has_attachments=False)
        for day in days
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pages", "reached"),
    [
        ([rows(0, 1, 2)], [2]),
        ([rows(0, 1, 2), rows(2, 3, 4), rows(4, 5)], [2, 4, 5]),
        ([rows(0, 1, 2), rows(3, 4), rows(4, 5)], [2]),
        ([rows(0, 1, 2), rows(2, 4, 3), rows(3, 5)], [2]),
        ([rows(0, 2, 1)], []),
        ([rows(1, 2, 3), rows(3, 0)], [3]),
        ([rows(0, 1), []], [1]),
    ],
    ids=["one page", "overlapping", "a gap", "out of order", "at once", "newer below", "empty"],
)
def test_a_head_reaches_as_far_down_as_its_pages_fit_together(
    pages: Sequence[Sequence[Envelope]], reached: list[int]
) -> None:
    head, found = Head(), []
    for page in pages:
        if head.goes_on_with(page):
            found.append(head.since)
    assert found == [int((LATEST - timedelta(days=day)).timestamp()) + 1 for day in reached]


class Stopping(LabelMailbox):
    pages = 0

    async def search(self, *args: Any, **kwargs: Any) -> Any:
        if not self.pages:
            raise ProviderUnavailable("The server is away.")
        self.pages -= 1
        return await super().search(*args, **kwargs)


async def test_after_an_expired_cursor_nothing_that_was_there_before_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 20)
    settings = RestAccount(name="mine", address="heads@demo.example", base_url="http://127.0.0.1:1", mirror="full")
    mirror, server = Mirror(tmp_path / "mine.db"), Stopping(settings, None)
    refs = [server.contents.add(letter(f"m{n}"), date=LATEST + timedelta(days=n)) for n in range(40)]
    layer = MirrorLayer(server, mirror, settings, max_age=3600.0)  # type: ignore[arg-type]
    mailbox: Any = mirrored(server, layer, "memory")  # type: ignore[arg-type]

    async def sync(pages: int) -> None:
        server.pages = pages
        async with Syncing(mirror, server, settings) as syncing:  # type: ignore[arg-type]
            with pytest.raises(ProviderUnavailable):
                await syncing.once()
            server.pages = 0
            await syncing.catch_up()

    async def listed() -> tuple[list[str], bool]:
        """And whether the mirror answered."""
        server.pages = 1
        page = await mailbox.search(Query(In("INBOX")), limit=5, offset=0)
        return [row.ref for row in page.items], page.as_of is not None

    await sync(1)
    assert await listed() == (refs[:-6:-1], True)

    del server.contents.mails[refs[-2]]  # unnoticed: nobody knows what happened since
    with mirror.transaction() as connection:
        note_fact(connection, CURSOR, "not known")
    await sync(1)
    assert await listed() == ([refs[-1], *refs[-3:-7:-1]], False)
