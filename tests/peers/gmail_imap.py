"""Gmail's IMAP before a real Dovecot: its capabilities, its search, its labels, and its refusals.

Left out, and so not offered: COMPRESS, QUOTA, XLIST. A label is kept with each copy of a mail and makes a folder of
its name, but unlike in Gmail the mail does not show up in there. Mails marked ``\\Deleted`` stay until they are
expunged (Gmail's Auto-Expunge switched off), and then they are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from anyio.from_thread import start_blocking_portal
from tests.peers.daemon import LOOPBACK
from tests.peers.gmail_verbs import Connection


def _mailbox(name: str, use: str = "", auto: str = "create") -> str:
    return f'  mailbox "{name}" {{\n    auto = {auto}\n    special_use = {use}\n  }}\n'


# For the Dovecot behind: Gmail's folders instead of its own. "Archive" is an ordinary label that somebody made.
_MAILBOXES = (
    *(_mailbox(name, auto="no") for name in ("Drafts", "Sent", "Trash", "Junk")),
    _mailbox("Archive"),
    _mailbox("[Gmail]/All Mail", "\\All"),
    _mailbox("[Gmail]/Drafts", "\\Drafts"),
    _mailbox("[Gmail]/Sent Mail", "\\Sent"),
    _mailbox("[Gmail]/Spam", "\\Junk"),
    _mailbox("[Gmail]/Starred", "\\Flagged"),
    _mailbox("[Gmail]/Trash", "\\Trash"),
)
FOLDERS = f"mail_max_keyword_length = 250\nnamespace inbox {{\n{''.join(_MAILBOXES)}}}\n"


@dataclass(slots=True)
class GmailImap:
    """A running peer. `queries` are the X-GM-RAW questions it understood, `commands` what clients said after login."""

    port: int = 0
    queries: list[str] = field(default_factory=list)
    commands: list[bytes] = field(default_factory=list)

    def forget(self) -> None:
        self.queries.clear()
        self.commands.clear()


@contextmanager
def gmail_imap(upstream: int) -> Iterator[GmailImap]:
    """Before the Dovecot on that loopback port, which has `FOLDERS`."""
    peer = GmailImap()
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_serving(peer, upstream)):
        yield peer


@asynccontextmanager
async def _serving(peer: GmailImap, upstream: int) -> AsyncIterator[None]:
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server = await asyncio.open_connection(LOOPBACK, upstream, limit=2**26)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await Connection(peer.commands, peer.queries, (reader, writer), server).serve()
        finally:
            tasks.discard(task)
            writer.close()
            server[1].close()

    listener = await asyncio.start_server(serve, LOOPBACK, 0, limit=2**26)
    peer.port = listener.sockets[0].getsockname()[1]
    yield
    listener.close()
    for task in list(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
