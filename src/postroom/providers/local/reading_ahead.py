"""Reads new messages in bulk, one block ahead of the one that is being written."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import closing
from typing import TypeVar

import anyio.to_thread

from postroom.providers.local.convert import NewMail, Prepared, read_all, read_headers

B = TypeVar("B")

BLOCK, BLOCK_BYTES = 1_000, 16 * 1024 * 1024  # of one transaction; with 500 messages writing takes a tenth longer


def prepared(mails: Iterable[NewMail]) -> Generator[Prepared, None, None]:
    """Each of them, in order. Close it: other processes may be reading for it."""
    from postroom.mime.processes.in_bulk import read_many

    with closing(read_many(read_all, mails, instead=read_headers, size=lambda mail: len(mail.raw))) as results:
        for mail, result in results:
            yield Prepared(mail, *result)


def prepared_blocks(mails: Iterable[NewMail]) -> Generator[list[Prepared], None, None]:
    from postroom.mime.processes.in_bulk import next_of

    with closing(prepared(mails)) as ready:
        while block := next_of(ready, lambda one: len(one.mail.raw), BLOCK, BLOCK_BYTES):
            yield block


async def ahead(blocks: Generator[B, None, None]) -> AsyncGenerator[B, None]:
    """The blocks, each made in a thread while the previous one is used. Close it: `blocks` is closed with it."""
    from concurrent.futures import ThreadPoolExecutor

    thread = ThreadPoolExecutor(1)
    try:
        coming = thread.submit(next, blocks, None)
        while (block := await anyio.to_thread.run_sync(coming.result)) is not None:
            coming = thread.submit(next, blocks, None)
            yield block
    finally:
        thread.submit(blocks.close)
        thread.shutdown(wait=False)
