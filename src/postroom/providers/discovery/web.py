"""One file from the web: HTTPS from end to end, a few seconds, a few hundred kilobytes."""

from __future__ import annotations

import ssl
from functools import partial
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import anyio
import anyio.to_thread

PATIENCE = 6.0  # seconds
LONGEST = 256 * 1024  # bytes; real ones have about 2 KB


async def fetch(url: str, *, context: ssl.SSLContext | None = None, patience: float = PATIENCE) -> bytes | None:
    """None when there is no such file, it is too long, or the way to it is not encrypted throughout."""
    with anyio.move_on_after(patience):
        return await anyio.to_thread.run_sync(partial(_fetched, url, context, patience), abandon_on_cancel=True)
    return None


class _HttpsOnly(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not newurl.startswith("https://"):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetched(url: str, context: ssl.SSLContext | None, patience: float) -> bytes | None:
    opener = build_opener(HTTPSHandler(context=context or ssl.create_default_context()), _HttpsOnly())
    opener.addheaders = [("Accept", "text/xml, */*")]
    try:
        with opener.open(url, timeout=patience) as answer:
            document: bytes = answer.read(LONGEST + 1)
    except (OSError, HTTPException, ValueError):
        return None
    return document if len(document) <= LONGEST else None
