"""Microsoft Graph: a strict fake of it with real state, proven with Microsoft's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import ClassVar

from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox

from postroom.providers.context import ProviderContext
from postroom.providers.registry import open_mailbox, open_transport
from postroom.settings import GraphAccount

from . import Rig, RigAccount, SeedMail

_PLACES = {"inbox": "inbox", "sent": "sentitems", "drafts": "drafts", "trash": "deleteditems", "junk": "junkemail"}
_VERBS = {"answered": "102", "forwarded": "104"}
_NUMBERS = count()


class ThisRig(Rig):
    peers: ClassVar[ExitStack]
    graph: ClassVar[FakeGraph]

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        cls.peers = ExitStack()
        cls.graph = cls.peers.enter_context(FakeGraph.started())
        cls.graph.unresolvable.add("nobody@elsewhere.example")

    @classmethod
    def stop_peer(cls) -> None:
        cls.peers.close()

    async def make_account(self) -> RigAccount:
        number = next(_NUMBERS)
        self.me, self.you = (self.graph.user(f"{who}{number}@contoso.example") for who in ("me", "you"))
        settings = GraphAccount(
            name="mine",
            address=self.me.address,
            base_url=self.graph.base_url,
            token=self.graph.token(self.me),  # type: ignore[arg-type]
        )
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
            missing_ref="AAkALgAA" + "x" * 60 + "=",
        )

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        return [self._deliver(mail) for mail in mails]

    def _deliver(self, mail: SeedMail) -> str:
        verb = next((_VERBS[flag] for flag in mail.flags if flag in _VERBS), "")
        return self.graph.deliver(
            self.me,
            mail.raw,
            folder_named(self.me, mail.folder),
            when=mail.date.timestamp() if mail.date else None,
            is_read="read" in mail.flags,
            flag="flagged" if "starred" in mail.flags else "notFlagged",
            categories=list(mail.labels),
            properties={"Integer 0x1081": verb} if verb else {},
        ).immutable_id

    async def remove(self, refs: Sequence[str]) -> None:
        with self.graph.lock:
            for ref in refs:
                self.me.remove(self.me.message(ref))

    async def inbox_of(self, address: str) -> list[bytes]:
        return [message.raw for message in reversed(self.graph.user(address).within("inbox"))]

    def losing_answers(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def losing() -> AsyncIterator[None]:
            self.graph.cut_next("POST", "messages.send", after_effect=True)
            yield

        return losing()

    async def close(self) -> None:
        if hasattr(self, "mailbox"):
            await self.mailbox.close()


def folder_named(user: Mailbox, name: str) -> str:
    if name in _PLACES:
        return _PLACES[name]
    known = next((folder.id for folder in user.folders.values() if folder.name.casefold() == name.casefold()), "")
    return known or user.add_folder(name).id
