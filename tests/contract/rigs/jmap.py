"""A real Cyrus: JMAP for everything, and an SMTP server of the test behind it that remembers what was submitted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from tests.peers.cyrus import DOMAIN, PASSWORD, Cyrus, missing_cyrus, running_cyrus
from tests.peers.faultproxy import FaultProxy, faulty
from tests.peers.raw_jmap import NewMail, RawJmap

from postroom.mime.read.parse import parse_headers
from postroom.providers.context import ProviderContext
from postroom.providers.keywords import keyword_of
from postroom.providers.registry import open_mailbox, open_transport
from postroom.settings import JmapAccount

from . import Rig, RigAccount, SeedMail

_KEYWORDS = {"read": "$seen", "starred": "$flagged", "answered": "$answered", "draft": "$draft"}
_NOBODY = f"nobody@{DOMAIN}"


class ThisRig(Rig):
    peers: ClassVar[ExitStack]
    cyrus: ClassVar[Cyrus]
    proxy: ClassVar[FaultProxy]

    @classmethod
    def why_unavailable(cls) -> str | None:
        return missing_cyrus()

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        cls.peers = ExitStack()
        cls.cyrus = cls.peers.enter_context(running_cyrus())
        cls.proxy = cls.peers.enter_context(faulty(cls.cyrus.http))
        cls.cyrus.smtp.answers[f"RCPT {_NOBODY}"] = "550 5.1.1 no such user"

    @classmethod
    def stop_peer(cls) -> None:
        cls.peers.close()

    async def make_account(self) -> RigAccount:
        self.me = await asyncio.to_thread(self.cyrus.new_user, "me")
        self.wire = RawJmap(self.cyrus.url, self.me, PASSWORD)
        settings = JmapAccount(
            name="mine", address=self.me, session_url=f"http://{self.cyrus.host}:{self.proxy.port}", password=PASSWORD
        )
        context = ProviderContext(self.folder, (settings,))
        self.mailbox = open_mailbox(settings, context)
        return RigAccount(
            settings=settings,
            mailbox=self.mailbox,
            transport=open_transport(settings, context, self.mailbox),
            capabilities=await self.mailbox.connect(),
            address=self.me,
            second_address=f"you-{self.me}",
            refused_address=_NOBODY,
            missing_ref="M0123456789abcdef01234567",
        )

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        return await asyncio.to_thread(self.wire.add, [_new(mail) for mail in mails])

    async def remove(self, refs: Sequence[str]) -> None:
        await asyncio.to_thread(self.wire.call, "Email/set", {"destroy": list(refs)})

    async def inbox_of(self, address: str) -> list[bytes]:
        taken = [envelope for envelope in self.cyrus.smtp.taken if address in envelope.rcpt_tos]
        return [_content(envelope) for envelope in taken]

    async def settle(self) -> None:
        await asyncio.to_thread(self.cyrus.index, self.me)

    def losing_answers(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def losing() -> AsyncIterator[None]:
            self.proxy.reset(swallow_after=b'"EmailSubmission/set"')
            yield
            self.proxy.reset()

        return losing()

    async def close(self) -> None:
        await self.mailbox.close()


def _new(mail: SeedMail) -> NewMail:
    keywords = [_KEYWORDS[flag] for flag in mail.flags if flag in _KEYWORDS]
    labels = [keyword_of(label) for label in mail.labels]
    return NewMail(mail.raw, mail.folder, [*keywords, *labels], mail.date or parse_headers(mail.raw).date)


def _content(envelope: Any) -> bytes:
    content = envelope.content
    return content if isinstance(content, bytes) else content.encode()
