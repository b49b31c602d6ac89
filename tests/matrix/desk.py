"""One account at a provider, a server that speaks a dialect in front of it, and a look past both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp_types import ElicitResult
from tests.contract.mails import mail
from tests.contract.rigs import Rig, RigAccount, SeedMail

from postroom.doors.mcp.serve import server_for
from postroom.model.message import Envelope
from postroom.model.query.tree import In, Query
from postroom.settings import build

LADDER, INVOICE = "Ladder for the roof", "Invoice 4711"
QUESTION = "How long is the ladder that you lent us?"
DELIVERY = 60  # seconds that a busy machine's servers may take at most


@dataclass
class Person:
    """Whoever sits in front of the client and answers its questions."""

    agrees: bool = False

    async def answer(self, _context: Any, _params: Any) -> ElicitResult:
        content = {"send": True} if self.agrees else None
        return ElicitResult(action="accept" if self.agrees else "decline", content=content)


@dataclass
class Desk:
    """`ids` are those that the dialect has shown, by subject."""

    client: Client
    rig: Rig
    account: RigAccount
    vault: Path
    person: Person
    ids: dict[str, Any] = field(default_factory=dict)

    @property
    def you(self) -> str:
        return self.account.second_address

    async def arrived(self) -> list[EmailMessage]:
        """What reached the other side, asked past Postroom."""
        return [message_from_bytes(raw, policy=policy.default) for raw in await self.rig.inbox_of(self.you)]

    async def arrived_once(self, text: str) -> EmailMessage:
        """Delivery is somebody else's work: look until it is done. It must have happened once only."""
        with anyio.fail_after(DELIVERY):
            while not (found := [one for one in await self.arrived() if text in _text_of(one)]):
                await anyio.sleep(0.02)
        (message,) = found
        return message

    async def within(self, folder: str) -> dict[str, Envelope]:
        """What a second program sees in a folder, by subject."""
        page = await self.account.mailbox.search(Query(In(folder)), limit=100, offset=0)
        found = {one.subject: one for one in page.items}
        assert len(found) == len(page.items), "the same message twice"
        return found


def _text_of(message: EmailMessage) -> str:
    body = message.get_body(("plain", "html"))
    return body.get_content() if body is not None else ""


@asynccontextmanager
async def desk_for(dialect: str, rig: Rig, home: Path) -> AsyncIterator[Desk]:
    """Everything as the dialect has it by default, its gate included."""
    account, person = await rig.make_account(), Person()
    sender = f"Your Neighbour <{account.second_address}>"
    letters = [
        mail("ladder", subject=LADDER, text=QUESTION, sender=sender, to=account.address, days_ago=2),
        mail("invoice", subject=INVOICE, text="Please pay.", to=account.address, days_ago=1),
    ]
    await rig.seed([SeedMail(raw) for raw in letters])
    await rig.settle()
    accounts = [account.settings, *rig.neighbours]
    settings = build({"server": {"dialect": dialect}, "accounts": accounts}, home=home)
    async with Client(server_for(settings), elicitation_callback=person.answer) as client:
        yield Desk(client, rig, account, settings.safety.vault, person)
