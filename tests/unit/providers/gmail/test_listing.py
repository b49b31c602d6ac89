"""The pages of a large folder: each id is listed once, and what changes meanwhile is seen."""

from __future__ import annotations

import math

import pytest
from tests.unit.providers.gmail.conftest import Box

from postroom.model.errors import ProviderUnavailable
from postroom.model.query.tree import In, Query
from postroom.providers.gmail.search import listing, searching

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def pages_of_five(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (listing, searching):
        monkeypatch.setattr(module, "PER_PAGE", 5)


async def page(box: Box, offset: int, folder: str = "INBOX", limit: int = 3) -> list[str]:
    found = await box.mailbox.search(Query(In(folder)), limit=limit, offset=offset)
    return [row.ref for row in found.items]


@pytest.mark.parametrize(("folder", "labels"), [("INBOX", ("INBOX",)), ("Archive", ()), ("Work", ("Work",))])
async def test_all_pages_together_list_each_message_once(box: Box, folder: str, labels: tuple[str, ...]) -> None:
    work = box.label("Work")
    given = tuple(work if label == "Work" else label for label in labels)
    refs = [box.deliver(f"m{number}", given) for number in range(40)]
    box.gmail.forget()
    found = [ref for offset in range(0, 42, 3) for ref in await page(box, offset, folder)]
    assert found == refs[::-1]
    assert box.gmail.count("messages.list") <= math.ceil(40 / 5) + 2


async def test_what_left_the_folder_since_it_was_listed_is_not_shown_and_the_next_page_is_of_a_new_list(
    box: Box,
) -> None:
    refs = [box.deliver(f"m{number}") for number in range(20)][::-1]
    assert await page(box, 3) == refs[3:6]
    box.user.change_labels(box.user.message(refs[6]), (), ["INBOX"])
    box.user.delete(box.user.message(refs[7]))
    assert await page(box, 6) == refs[8:9]
    assert await page(box, 6) == refs[8:11]


async def test_the_first_page_begins_a_new_list(box: Box) -> None:
    refs = [box.deliver(f"m{number}") for number in range(20)][::-1]
    await page(box, 6)
    new = box.deliver("new")
    assert await page(box, 0) == [new, *refs[:2]]
    assert await page(box, 6) == refs[5:8]


async def test_a_list_that_is_old_or_that_gmail_no_longer_knows_begins_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [box.deliver(f"m{number}") for number in range(20)][::-1]
    await page(box, 3)
    box.gmail.fail_next("GET", "messages.list", status=400, reason="invalidArgument")
    assert await page(box, 9) == refs[9:12]
    assert box.gmail.pending_faults == 0
    new = box.deliver("new")
    assert await page(box, 9) == refs[9:12]
    monkeypatch.setattr(listing, "_KEPT", 0.0)
    assert new not in await page(box, 9) == refs[8:11]


async def test_a_page_that_failed_is_of_the_same_list_when_it_is_asked_for_again(box: Box, quick: None) -> None:
    refs = [box.deliver(f"m{number}") for number in range(20)][::-1]
    await page(box, 3)
    box.gmail.fail_next("GET", "messages.list", status=503, times=3)
    with pytest.raises(ProviderUnavailable):
        await page(box, 9)
    box.gmail.forget()
    assert await page(box, 9) == refs[9:12]
    assert box.gmail.count("messages.list") == 1
