"""One file from the web: HTTPS from end to end, a few seconds, a few hundred kilobytes."""

from __future__ import annotations

import ssl
from functools import partial

import anyio
import anyio.to_thread

PATIENCE = 6.0  # seconds
LONGEST = 256 * 1024  # bytes; real ones have about 2 KB


async def fetch(url: str, *, context: ssl.SSLContext | None = None, patience: float = PATIENCE) -> bytes | None:
    """None when there is no such file, it is too long, or the way to it is not encrypted throughout."""
    with anyio.move_on_after(patience):
        return await anyio.to_thread.run_sync(partial(_fetched, url, context, patience), abandon_on_cancel=True)
    return None


def _fetched(url: str, context: ssl.SSLContext | None, patience: float) -> bytes | None:
    from http.client import HTTPException
    from urllib.request import HTTPSHandler, OpenerDirector, ProxyHandler, Request

    opener = OpenerDirector()
    for handler in (ProxyHandler(), HTTPSHandler(context=context or ssl.create_default_context()), *_answer_readers()):
        opener.add_handler(handler)
    try:
        with opener.open(Request(url, headers={"Accept": "text/xml, */*"}), timeout=patience) as answer:  # noqa: S310
            document: bytes = answer.read(LONGEST + 1)
    except (OSError, HTTPException, ValueError, AttributeError):
        return None
    return document if len(document) <= LONGEST else None
