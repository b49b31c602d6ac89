"""Pages that are longer than what the service gives at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail

from postroom.model.query.tree import In, Query
from postroom.providers.rest import wire
from postroom.providers.rest.provider import RestMailbox
from postroom.settings import RestAccount
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio


@pytest.fixture
def refs(me: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Newest first, in an inbox of which the service gives five at once."""
    monkeypatch.setattr(wire, "PAGE", 5)
    return [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(17)]


@pytest.mark.parametrize(
    ("limit", "offset", "has_more"),
    [(4, 0, True), (5, 0, True), (6, 0, True), (10, 0, True), (16, 0, True), (17, 0, False), (200, 0, False),
     (5, 12, False), (6, 11, False), (5, 11, True), (6, 10, True), (200, 12, False), (5, 17, False)],
)  # fmt: skip
async def test_a_page_has_as_many_as_are_wanted_and_tells_whether_there_are_more(
    box: RestMailbox, refs: list[str], limit: int, offset: int, has_more: bool
) -> None:
    page = await box.search(Query(In("inbox")), limit=limit, offset=offset)
    assert ([row.ref for row in page.items], page.has_more) == (refs[offset : offset + limit], has_more)


async def test_messages_that_go_between_two_requests_leave_no_gap_in_a_page(
    box: RestMailbox, me: Any, refs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page, archive = box.client.page, me.store.mailbox("Archive")

    async def then_move(*args: Any, **kwargs: Any) -> Any:
        rows = await page(*args, **kwargs)
        monkeypatch.setattr(box.client, "page", page)
        for ref in refs[:3]:
            me.store.move(ref, archive)
        return rows

    monkeypatch.setattr(box.client, "page", then_move)
    found = await box.search(Query(In("inbox")), limit=10, offset=0)
    assert ([row.ref for row in found.items], found.has_more) == (refs[:5], True)


async def test_a_mirror_has_more_messages_of_a_folder_than_the_service_gives_at_once(
    box: RestMailbox, account: RestAccount, refs: list[str], tmp_path: Path
) -> None:
    mirror = Mirror(tmp_path / "mirrors" / "mine.db")
    async with Syncing(mirror, box, account.model_copy(update={"mirror": "full"})) as syncing:
        status = await syncing.once()
    assert (status.complete, status.messages) == (True, 17)
