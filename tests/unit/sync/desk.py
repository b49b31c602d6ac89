"""A mailbox behind its mirror, whose server can be taken away."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.peers.accounts import imap_account
from tests.peers.faultproxy import FaultProxy, faulty
from tests.unit.sync.conftest import Mirrored

from postroom.model.message import Envelope, Page
from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.providers.layers.layered import Call, Layered
from postroom.sync.answering.mirrored import MirrorLayer
from postroom.sync.answering.mirrored import mirrored as with_mirror
from postroom.sync.following.syncing import Syncing

INBOX = Query(In("INBOX"))


class Desk:
    """`asked` counts what reached the server."""

    def __init__(self, mirrored: Mirrored, proxy: FaultProxy, *, max_age: float, catches_up: bool) -> None:
        self.mirrored, self.proxy = mirrored, proxy
        usual: dict[str, Any] = {"mirror": "full", "port": proxy.port, "timeout": 2}
        self.account = imap_account(mirrored.dovecot, mirrored.user, **(usual | mirrored.changes))
        self.asked: Counter[str] = Counter()
        self._bare = ImapMailbox(self.account, ProviderContext(mirrored.mirror.path.parent))
        self.server: Any = Layered(self._bare, "imap", [self._count])
        catch_up = self._catch_up if catches_up else None
        self.layer = MirrorLayer(self.server, mirrored.mirror, self.account, catch_up, max_age)
        self.mailbox: Any = with_mirror(self.server, self.layer, "imap")

    def _count(self, verb: str, call: Call) -> Call:
        async def counted(*args: Any, **kwargs: Any) -> Any:
            self.asked[verb] += 1
            return await call(*args, **kwargs)

        return counted

    async def _catch_up(self) -> None:
        async with Syncing(self.mirrored.mirror, self._bare, self.account) as syncing:
            await syncing.catch_up()

    def append(self, *letters: bytes, folder: str = "INBOX", flags: str = "") -> None:
        with self.mirrored.client() as client:
            for one in letters:
                client.append(folder, flags, None, one)

    def take_the_server_away(self) -> None:
        self.proxy.reset(cut_after_down=0)
        self.proxy.cut_all()

    def bring_it_back(self) -> None:
        self.proxy.reset()
        self.layer.outage.end()

    async def list(self, query: Query = INBOX) -> Page[Envelope]:
        page: Page[Envelope] = await self.mailbox.search(query, limit=10, offset=0)
        return page


@asynccontextmanager
async def desk(mirrored: Mirrored, *, max_age: float = 3600.0, catches_up: bool = False) -> AsyncIterator[Desk]:
    with faulty(mirrored.dovecot.imap) as proxy:
        made = Desk(mirrored, proxy, max_age=max_age, catches_up=catches_up)
        await made.mailbox.connect()
        try:
            yield made
        finally:
            await made.mailbox.close()
