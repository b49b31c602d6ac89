from __future__ import annotations

import pytest

from .mails import listed, mail, searched
from .rigs import Rig, RigAccount, SeedMail


@pytest.fixture
async def shelf(rig: Rig, account: RigAccount) -> list[str]:
    """25 mails, newest first: the order every list must have, whatever order they came in."""
    refs = await rig.seed([SeedMail(mail(f"m{n}", text="parcel", days_ago=(n * 7) % 25)) for n in range(25)])
    await rig.settle()
    return [ref for _, ref in sorted(((n * 7) % 25, refs[n]) for n in range(25))]


async def test_a_listing_is_newest_first(account: RigAccount, shelf: list[str]) -> None:
    assert [row.ref for row in (await listed(account, "inbox")).items] == shelf


async def test_pages_join_without_gap_or_overlap(account: RigAccount, shelf: list[str]) -> None:
    seen: list[str] = []
    for offset in range(0, 30, 10):
        page = await listed(account, "inbox", limit=10, offset=offset)
        assert (page.limit, page.offset) == (10, offset)
        assert page.total in (25, None)
        assert page.has_more == (offset + 10 < 25)
        seen += [row.ref for row in page.items]
    assert seen == shelf


async def test_a_page_past_the_end_is_empty(account: RigAccount, shelf: list[str]) -> None:
    page = await listed(account, "inbox", limit=10, offset=500)
    assert (page.items, page.has_more) == ((), False)


async def test_an_exactly_full_last_page_has_no_more(account: RigAccount, shelf: list[str]) -> None:
    page = await listed(account, "inbox", limit=5, offset=20)
    assert (len(page.items), page.has_more) == (5, False)


async def test_search_results_page_like_a_listing(account: RigAccount, shelf: list[str]) -> None:
    pages = [await searched(account, "parcel", limit=10, offset=offset) for offset in (0, 10, 20)]
    assert [row.ref for page in pages for row in page.items] == shelf
    assert [page.has_more for page in pages] == [True, True, False]
    assert {page.total for page in pages} <= {25, None}


async def test_an_empty_folder_is_an_empty_page(account: RigAccount) -> None:
    page = await listed(account, "inbox")
    assert (page.items, page.has_more) == ((), False)
    assert page.total in (0, None)
