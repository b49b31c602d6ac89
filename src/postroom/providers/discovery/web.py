"""One file from the web: HTTPS from end to end, a few seconds, a few hundred kilobytes."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import anyio

from postroom.model.errors import PostroomError
from postroom.providers.http.client import new_client
from postroom.providers.http.exchange import Call, exchange

if TYPE_CHECKING:
    import httpx2

PATIENCE = 6.0  # seconds
LONGEST = 256 * 1024  # bytes; real ones have about 2 KB
_MOST_REDIRECTS = 5


async def fetch(
    url: str, *, context: ssl.SSLContext | None = None, patience: float = PATIENCE, proxies: bool = True
) -> bytes | None:
    """None when there is no such file, it is too long, or any redirect on the way is not encrypted."""
    with anyio.move_on_after(patience):
        async with new_client(timeout=patience, tls=context, proxies=proxies) as client:
            return await _fetched(client, url)
    return None


async def _fetched(client: httpx2.AsyncClient, url: str) -> bytes | None:
    """Redirects to other hosts are followed here: mail hosts publish the file this way, and no secret is sent."""
    for _ in range(_MOST_REDIRECTS + 1):
        if not url.startswith("https://"):
            return None
        try:
            answer = await exchange(client, Call("GET", url, {"Accept": "text/xml, */*"}, largest=LONGEST))
        except PostroomError:
            return None
        if not answer.place:
            return answer.body if answer.is_success else None
        url = answer.place
    return None
