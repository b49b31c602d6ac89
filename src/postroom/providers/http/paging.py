"""Follows a service's page tokens to the end and detects loops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from postroom.model.errors import ProviderError

T = TypeVar("T")
MOST_PAGES = 10_000

FetchPage = Callable[[str], Awaitable[tuple[Sequence[T], str]]]


async def pages(fetch: FetchPage[T], *, most: int = MOST_PAGES) -> AsyncIterator[Sequence[T]]:
    """`fetch` is given a page's token, empty for the first one, and returns the page and the token of the next, empty
    after the last. Pages are fetched lazily: iterate no further than needed."""
    token, seen = "", {""}
    for _ in range(most):
        page, token = await fetch(token)
        yield page
        if not token:
            return
        if token in seen:
            raise ProviderError("The mail service's pages form a loop. What was read so far is incomplete.")
        seen.add(token)
    raise ProviderError(f"The result has more than {most} pages. Narrow the request.")
