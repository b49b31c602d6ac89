"""The ids of a folder's messages: whoever turns the pages of a large folder goes on where the last one ended, and Gmail
does not list again all that is above it for each. A list that has begun goes on as it was when it began."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from postroom.model.errors import PostroomError, ProviderError
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import PER_PAGE, UNITS, Get, objects_of, text_of

_KEPT = 300.0  # seconds after it was last used


@dataclass
class _Listing:
    params: Mapping[str, Any]
    ids: list[str] = field(default_factory=list)
    token: str = ""
    tokens: set[str] = field(default_factory=set)
    has_more: bool = True


class Listings:
    """Of one folder at a time."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._kept: _Listing | None = None
        self._used_at = 0.0

    def forget(self) -> None:
        self._kept = None

    async def first(self, params: Mapping[str, Any], most: int) -> tuple[list[str], bool, bool]:
        """The first `most`, whether more follow, and whether some of this was read earlier."""
        kept, self._kept = self._kept, None  # nobody else goes on with it meanwhile
        if kept is None or kept.params != params or self._clock() >= self._used_at + _KEPT:
            return (*await self._continued(_Listing(params), most), False)
        try:
            return (*await self._continued(kept, most), True)
        except PostroomError as error:
            if error.retryable:
                self._kept = kept
                raise
        return (*await self._continued(_Listing(params), most), False)  # Gmail no longer knows where it was

    async def _continued(self, listing: _Listing, most: int) -> tuple[list[str], bool]:
        while listing.has_more and len(listing.ids) < most:
            await self._read_on(listing)
        self._kept, self._used_at = listing, self._clock()
        return listing.ids[:most], listing.has_more or len(listing.ids) > most

    async def _read_on(self, listing: _Listing) -> None:
        after = {"pageToken": listing.token} if listing.token else {}
        page = await self._client.get(
            Get("messages", UNITS["messages"], {**listing.params, "maxResults": PER_PAGE, **after})
        )
        listing.ids += [ref for entry in objects_of(page.get("messages")) if (ref := text_of(entry.get("id")))]
        listing.token = text_of(page.get("nextPageToken"))
        listing.has_more = bool(listing.token)
        if listing.token in listing.tokens:
            raise ProviderError("The mail service's pages form a loop. What was read so far is incomplete.")
        listing.tokens.add(listing.token)
