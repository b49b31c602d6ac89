"""JSON from the authorisation server, within bounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 1024 * 1024
SECONDS = 10.0  # for all of it, however slowly it comes


class CannotFetch(Exception):
    """Unreachable, too slow, too large, or something other than a JSON object."""


async def fetch_json(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    import anyio
    import httpx2

    try:
        with anyio.fail_after(SECONDS):
            found = json.loads(await _body(client, url))
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, RecursionError):
        raise CannotFetch from None
    if not isinstance(found, dict):
        raise CannotFetch
    return found


async def _body(client: httpx2.AsyncClient, url: str) -> bytes:
    body = bytearray()
    async with client.stream("GET", url, headers={"accept": "application/json"}) as answer:
        if answer.status_code != 200:
            raise CannotFetch
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                raise CannotFetch
    return bytes(body)
