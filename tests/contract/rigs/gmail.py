"""The Gmail API: a strict fake of it with real state, proven with Google's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from tests.peers.gmail import FakeGmail
from tests.peers.gmail.mailbox import Mailbox

from postroom.mime.read.parse import parse_headers
from postroom.providers.context import ProviderContext
from postroom.providers.gmail.mail.labels import ANSWERED, FORWARDED
from postroom.providers.registry import open_mailbox, open_transport
from postroom.settings import GmailAccount

from . import Rig, RigAccount, SeedMail

_PLACES = {"inbox": "INBOX", "sent": "SENT", "drafts": "DRAFT", "trash": "TRASH", "junk": "SPAM"}
_MARKS = {"answered": ANSWERED, "forwarded": FORWARDED}
_NUMBERS = count()


class ThisRig(Rig):
    peers: ClassVar[ExitStack]
    gmail: ClassVar[FakeGmail]

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        cls.peers = ExitStack()
        cls.gmail = cls.peers.enter_context(FakeGmail.started())
        cls.gmail.quota.per_user_per_minute = cls.gmail.quota.per_project_per_minute = None

    @classmethod
    def stop_peer(cls) -> None:
        cls.peers.close()

    async def make_account(self) -> RigAccount:
        number = next(_NUMBERS)
        self.me, self.you = (self.gmail.user(f"{who}{number}@gmail.example") for who in ("me", "you"))
        settings = GmailAccount(
            name="mine",
            address=self.me.address,
            base_url=self.gmail.url,
            token=self.gmail.token(self.me),  # type: ignore[arg-type]
            units_per_minute=10**7,
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
            refused_address="",  # what Gmail cannot deliver comes back as a message
            missing_ref="19a0ffffffffffff",
        )

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        return [self._deliver(mail) for mail in mails]

    def _deliver(self, mail: SeedMail) -> str:
        labels = {_PLACES[mail.folder]} if mail.folder in _PLACES else set[str]()
        if mail.folder not in (*_PLACES, "archive"):
            labels.add(label_id(self.me, mail.folder))
        labels |= {label_id(self.me, name) for name in mail.labels}
        labels |= {label_id(self.me, _MARKS[flag]) for flag in mail.flags if flag in _MARKS}
        labels |= {"STARRED"} if "starred" in mail.flags else set()
        labels |= set() if "read" in mail.flags or mail.folder == "sent" else {"UNREAD"}
        moment = mail.date or parse_headers(mail.raw).date
        when = moment.timestamp() if moment else None
        return self.gmail.deliver(self.me, mail.raw, labels, when=when).id

    async def remove(self, refs: Sequence[str]) -> None:
        with self.gmail.lock:
            for ref in refs:
                self.me.delete(self.me.message(ref))

    async def inbox_of(self, address: str) -> list[bytes]:
        return [message.raw for message in reversed(self.gmail.user(address).labelled("INBOX"))]

    def losing_answers(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def losing() -> AsyncIterator[None]:
            self.gmail.cut_next("POST", "drafts.send", after_effect=True)
            yield

        return losing()

    async def close(self) -> None:
        if hasattr(self, "mailbox"):
            await self.mailbox.close()


def label_id(user: Mailbox, name: str) -> Any:
    return next((label.id for label in user.labels if label.name == name), None) or user.labels.create(name).id
