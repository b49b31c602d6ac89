"""The REST mail API: a server in this process over embedded mailboxes; every test is a new pair of users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import ClassVar

from tests.peers.rest import RestPeer
from tests.peers.rest.service import PASSWORD

from postroom.providers.context import ProviderContext
from postroom.providers.registry import open_mailbox, open_transport
from postroom.settings import RestAccount

from . import Rig, RigAccount, SeedMail

_NUMBERS = count()


class ThisRig(Rig):
    peers: ClassVar[ExitStack]
    api: ClassVar[RestPeer]

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        cls.peers = ExitStack()
        cls.api = cls.peers.enter_context(RestPeer(folder).run())

    @classmethod
    def stop_peer(cls) -> None:
        cls.peers.close()

    async def make_account(self) -> RigAccount:
        number = next(_NUMBERS)
        self.names = [f"me{number}@demo.example", f"you{number}@demo.example"]
        self.me, self.you = map(self.api.add_user, self.names)
        settings = RestAccount(name="mine", address=self.me.address, base_url=self.api.url, password=PASSWORD)
        context = ProviderContext(self.folder, (settings,))
        self.mailbox = open_mailbox(settings, context)
        return RigAccount(
            settings=settings,
            mailbox=self.mailbox,
            transport=open_transport(settings, context, self.mailbox),
            capabilities=await self.mailbox.connect(),
            address=self.me.address,
            second_address=self.you.address,
            refused_address="nobody@elsewhere.example",
            missing_ref="m424242",
        )

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        def add_all() -> list[str]:
            with self.api.lock:
                return [self.me.store.add(mail.raw, mail.folder, mail.flags, mail.date) for mail in mails]

        return await asyncio.to_thread(add_all)

    async def inbox_of(self, address: str) -> list[bytes]:
        with self.api.lock:
            return self.api.users[address].store.raw_mails("INBOX")

    def losing_answers(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def losing() -> AsyncIterator[None]:
            self.api.cut_next("POST", "message.send", after_effect=True)
            yield
            assert self.api.pending_faults == 0

        return losing()

    async def close(self) -> None:
        await self.mailbox.close()
        for name in self.names:
            self.api.remove_user(name)
