"""The embedded mailbox: two accounts in two files of one temporary folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.layers.layered import unwrapped
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.providers.registry import open_mailbox, open_transport
from postroom.settings import LocalAccount

from . import Rig, RigAccount, SeedMail


class ThisRig(Rig):
    async def make_account(self) -> RigAccount:
        mine = LocalAccount(name="mine", address="me@demo.example", path=self.folder / "mine.db")
        other = LocalAccount(name="other", address="you@demo.example", path=self.folder / "other.db")
        context = ProviderContext(self.folder, (mine, other))
        mailbox = open_mailbox(mine, context)
        self.bare: LocalMailbox = unwrapped(mailbox)
        self.other = LocalMailbox(other, context)
        self.neighbours = (other,)
        await self.other.connect()
        return RigAccount(
            settings=mine,
            mailbox=mailbox,
            transport=open_transport(mine, context, mailbox),
            capabilities=await mailbox.connect(),
            address=mine.address,
            second_address=other.address,
            refused_address="nobody@elsewhere.example",
            missing_ref="424242",
        )

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        return await self.bare.add_messages(
            NewMail(mail.raw, mail.folder, mail.flags, mail.labels, mail.date) for mail in mails
        )

    async def inbox_of(self, address: str) -> list[bytes]:
        mailbox: Any = self.other if address == "you@demo.example" else self.bare
        page = await mailbox.search(Query(In("inbox")), limit=1000, offset=0)
        return [await mailbox.fetch_raw(row.ref) for row in reversed(page.items)]

    async def close(self) -> None:
        for mailbox in (self.bare, self.other):
            await mailbox.close()
