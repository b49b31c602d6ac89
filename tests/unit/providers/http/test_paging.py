"""Pages, one token after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from postroom.model.errors import ProviderError
from postroom.providers.http.paging import pages


def book(leads: dict[str, str]) -> tuple[list[str], object]:
    fetched: list[str] = []

    async def fetch(token: str) -> tuple[Sequence[str], str]:
        fetched.append(token)
        return [f"page {token}"], leads[token]

    return fetched, fetch


async def test_every_page_comes_once_and_in_order() -> None:
    _, fetch = book({"": "a", "a": "b", "b": ""})
    assert [page async for page in pages(fetch)] == [["page "], ["page a"], ["page b"]]


async def test_a_circle_is_noticed_as_soon_as_a_token_returns() -> None:
    fetched, fetch = book({"": "a", "a": "b", "b": "a"})
    with pytest.raises(ProviderError, match="loop"):
        async for _ in pages(fetch):
            pass
    assert fetched == ["", "a", "b"]


async def test_a_page_that_leads_to_itself_is_a_circle() -> None:
    _, fetch = book({"": "a", "a": "a"})
    with pytest.raises(ProviderError, match="loop"):
        async for _ in pages(fetch):
            pass


async def test_no_page_is_fetched_that_nobody_asks_for() -> None:
    fetched, fetch = book({"": "a", "a": "b", "b": ""})
    async for _ in pages(fetch):
        break
    assert fetched == [""]


async def test_a_book_without_end_ends() -> None:
    async def fetch(token: str) -> tuple[Sequence[str], str]:
        return [token], f"{token}x"

    with pytest.raises(ProviderError, match="more than 50 pages"):
        async for _ in pages(fetch, most=50):
            pass
