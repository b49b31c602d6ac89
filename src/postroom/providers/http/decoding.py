"""The body of a response as it was before compression. httpx2 2.16 takes one that ends in the middle for the whole."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

CODING = "gzip"  # the only one that is asked for
_GZIP = 16 + zlib.MAX_WBITS


async def decoded(response: httpx2.Response) -> AsyncIterator[bytes]:
    """DecodingError where its end is missing: whoever compressed it broke off, and whoever passed it on (a proxy) ended
    it as if nothing had happened."""
    import httpx2

    if response.headers.get("content-encoding", "").strip().lower() != CODING:
        async for piece in response.aiter_bytes():
            yield piece
        return
    unpacker, is_empty = zlib.decompressobj(_GZIP), True
    async for piece in response.aiter_raw():
        is_empty = False
        try:
            yield b"" if unpacker.eof else unpacker.decompress(piece)
        except zlib.error as error:
            raise httpx2.DecodingError("The body is not what its header says.") from error
    if not (unpacker.eof or is_empty):
        raise httpx2.DecodingError("The end of the body is missing.")
