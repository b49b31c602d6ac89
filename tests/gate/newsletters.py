"""A newsletter that offers one click, and a list's server that does what the test says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.gate.rigs import CONFIRMED, GateRig

from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.providers import oneclick
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.sending.unsubscribe import order_unsubscribe
from postroom.service.views import SendView

HOST = "lists.example"
TOKEN = "alice-4711"
RAW = (
    f"From: news@{HOST}\r\nTo: alice@demo.example\r\nSubject: News\r\n"
    f"List-Unsubscribe: <https://{HOST}/leave/{TOKEN}?id={TOKEN}>\r\n"
    "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n\r\nhello\r\n"
)
TAKEN = SubmitOutcome("accepted", accepted=(f"one-click@{HOST}",))
LOST = SubmitOutcome("unknown", reason=f"{HOST} did not answer.")


@dataclass
class ListServer:
    """What is posted, and how each request ends; the network itself is tested with the tool."""

    outcome: SubmitOutcome = TAKEN
    posted: list[str] = field(default_factory=list)

    async def post(self, _client: Any, request: SubmitRequest, host: str, _address: str) -> SubmitOutcome:
        assert request.native is not None
        assert host == HOST
        self.posted.append(request.native.text)
        return self.outcome


async def somewhere(_host: str) -> str:
    return "192.0.2.1"


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> ListServer:
    server = ListServer()
    monkeypatch.setattr(oneclick, "_public_address", somewhere)
    monkeypatch.setattr(oneclick, "_post", server.post)
    return server


async def newsletter(gate: GateRig, raw: str = RAW) -> str:
    settings = gate.gateway.settings
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=settings.home, neighbours=settings.accounts))
    await mailbox.connect()
    await mailbox.add_messages([NewMail(raw=raw.encode(), folder="INBOX")])
    await mailbox.close()
    return await email_id_of_news(gate)


async def email_id_of_news(gate: GateRig) -> str:
    page = await search.list_emails(gate.gateway, account="alice", mailbox="INBOX")
    return next(row.email_id for row in page.results if row.subject == "News")


async def leave(gate: GateRig, email_id: str, **wishes: Any) -> SendView:
    order = await order_unsubscribe(gate.gateway, email_id, replace(CONFIRMED, **wishes), "alice")
    return await send.send(gate.gateway, order)
