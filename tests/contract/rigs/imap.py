"""IMAP and SMTP on a real Dovecot and a real Postfix; every test is a new pair of users."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from imapclient import IMAPClient
from tests.peers.daemon import missing_programs
from tests.peers.dovecot import DOMAIN, PASSWORD, Dovecot, running_dovecot
from tests.peers.faultproxy import FaultProxy, faulty
from tests.peers.postfix import Postfix, running_postfix

from postroom.mime.read.parse import parse_headers
from postroom.providers.context import ProviderContext
from postroom.providers.keywords import keyword_of
from postroom.providers.registry import open_mailbox, open_transport
from postroom.settings import ImapAccount

from . import Rig, RigAccount, SeedMail

_FLAGS = {"read": "\\Seen", "starred": "\\Flagged", "answered": "\\Answered", "draft": "\\Draft"}
_ROLES = {"inbox": "INBOX", "sent": "Sent", "drafts": "Drafts", "trash": "Trash", "junk": "Junk", "archive": "Archive"}
_DELIVERY = 10.0  # seconds Postfix may take to hand a mail to Dovecot


class ThisRig(Rig):
    peers: ClassVar[ExitStack]
    dovecot: ClassVar[Dovecot]
    postfix: ClassVar[Postfix]
    proxy: ClassVar[FaultProxy]
    has_sieve: ClassVar[bool] = True

    @classmethod
    def why_unavailable(cls) -> str | None:
        return missing_programs("dovecot", "postfix")

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        cls.peers = ExitStack()
        cls.dovecot = cls.peers.enter_context(running_dovecot())
        cls.postfix = cls.peers.enter_context(running_postfix(cls.dovecot))
        cls.proxy = cls.peers.enter_context(faulty(cls.postfix.plain))

    @classmethod
    def stop_peer(cls) -> None:
        cls.peers.close()

    @property
    def store(self) -> Any:
        """The server that shows the mails."""
        return self.dovecot

    def place(self, folder: str) -> str:
        """What the server calls the folder of a role or a name."""
        return _ROLES.get(folder, folder)

    async def make_account(self) -> RigAccount:
        self.me, self.you = self.store.new_user("me"), self.store.new_user("you")
        settings = ImapAccount(
            name="mine",
            address=self.me,
            host=self.store.host,
            port=self.store.imap,
            security="none",
            password=PASSWORD,
            smtp_host=self.postfix.host,
            smtp_port=self.proxy.port,
            smtp_security="none",
            sieve_host=self.dovecot.host if self.has_sieve else "",
            sieve_port=self.dovecot.sieve,
            sieve_security="none",
        )
        context = ProviderContext(self.folder, (settings,))
        self.mailbox = open_mailbox(settings, context)
        return RigAccount(
            settings=settings,
            mailbox=self.mailbox,
            transport=open_transport(settings, context, self.mailbox),
            capabilities=await self.mailbox.connect(),
            address=self.me,
            second_address=self.you,
            refused_address=f"nobody@{DOMAIN}",
            missing_ref="INBOX|1|424242",
        )

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        def append_all(client: Any) -> list[str]:
            return [_append(client, self.place(mail.folder), mail) for mail in mails]

        return await asyncio.to_thread(self._as, self.me, append_all)

    async def inbox_of(self, address: str) -> list[bytes]:
        """Postfix hands over in its own time: look until its queue is empty."""
        deadline = time.monotonic() + _DELIVERY
        while self.postfix.has_queued_mail() and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        return await asyncio.to_thread(self._as, address, _inbox)

    def losing_answers(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def losing() -> AsyncIterator[None]:
            self.proxy.reset(swallow_after=b"\r\n.\r\n")
            yield
            self.proxy.reset()

        return losing()

    async def close(self) -> None:
        await self.mailbox.close()

    def _as(self, user: str, work: Callable[[Any], Any]) -> Any:
        with IMAPClient(self.store.host, self.store.imap, ssl=False, timeout=20) as client:
            client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # IMAPClient writes in small pieces
            client.login(user, PASSWORD)
            return work(client)


def _append(client: Any, folder: str, mail: SeedMail) -> str:
    flags = [_FLAGS[flag] for flag in mail.flags if flag in _FLAGS] + [keyword_of(label) for label in mail.labels]
    date = mail.date or parse_headers(mail.raw).date
    if mail.folder not in _ROLES and not client.folder_exists(folder):
        client.create_folder(folder)
    answer = client.append(folder, mail.raw, flags, date).decode()
    validity, uid = answer.partition("APPENDUID ")[2].partition("]")[0].split()
    return f"{folder}|{validity}|{uid}"


def _inbox(client: Any) -> list[bytes]:
    client.select_folder("INBOX", readonly=True)
    uids = client.search()
    found = client.fetch(uids, ["BODY.PEEK[]"]) if uids else {}
    return [found[uid][b"BODY[]"] for uid in sorted(found)]
