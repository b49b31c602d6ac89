"""A server in the dialect graph on local mailboxes, with the clock and the provider's answers in the test's hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult
from tests.flows.caller import Caller, text_of
from tests.gate.rigs import ACCOUNTS, GateRig, SetClock
from tests.gate.transports import Acts

from postroom.doors.mcp.log import AllowListFormatter
from postroom.doors.mcp.server import build_server
from postroom.index import writing
from postroom.model.errors import PostroomError
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.providers.layers.layered import unwrapped
from postroom.settings import build
from postroom.wiring import open_gateway

BOB, CAROL, ALICE = "bob@demo.example", "carol@demo.example", "alice@demo.example"
MAIL = {"to": [BOB], "subject": "Angebot", "body": "Guten Tag, anbei unser Angebot."}
LETTER = (
    "From: Bob <bob@demo.example>\r\nTo: alice@demo.example\r\nCc: carol@demo.example\r\nSubject: Besprechung\r\n"
    "Message-ID: <m1@demo.example>\r\nDate: Sun, 15 Nov 2026 10:00:00 +0000\r\n"
)
PLAIN = f"{LETTER}\r\nPasst Ihnen Montag?\r\n"
WITH_FILE = (
    f'{LETTER}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nSiehe Anlage.\r\n'
    '--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="plan.pdf"\r\n'
    "Content-Transfer-Encoding: base64\r\n\r\nUGxhbg==\r\n--b--\r\n"
)


@dataclass
class Provider(Acts):
    """Writes by its own actions, unless `native_kinds` is empty. `refuses` is raised instead of sending; `takes_all`
    accepts without delivering, whoever the recipients are."""

    refuses: PostroomError | None = None
    takes_all: bool = False
    before: Callable[[], None] = lambda: None
    attempts: list[SubmitRequest] = field(default_factory=list)

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        self.before()
        self.attempts.append(request)
        if self.refuses is not None:
            raise self.refuses
        if self.takes_all:
            self.submitted.append(request)
            return SubmitOutcome("accepted", request.envelope.recipients)
        return await super().submit(request)


@dataclass
class Desk(GateRig):
    call: Caller
    provider: Provider
    is_native: bool

    async def letter(self, raw: str = PLAIN) -> str:
        """A message in the inbox, by its id."""
        mailbox: Any = unwrapped((await self.gateway.accounts.open()).mailbox)
        return str(await mailbox.add_message(raw.encode()))

    async def delete(self, message_id: str) -> None:
        """By another program, for good."""
        mailbox: Any = unwrapped((await self.gateway.accounts.open()).mailbox)
        await mailbox._write(writing.remove, [message_id])

    async def sent(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.call.ok(tool, **arguments, confirm=True)

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    async def refusal(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.call.error(tool, **arguments, confirm=True)

    @property
    def action(self) -> Any:
        """The one that was submitted."""
        (request,) = self.provider.submitted
        return request.native


@asynccontextmanager
async def graph_desk(home: Path, *, is_native: bool = True, **safety: Any) -> AsyncIterator[Desk]:
    accounts = [
        {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db"}
        for name in ACCOUNTS
    ]
    data = {"server": {"dialect": "graph", "timezone": "UTC"}, "accounts": accounts, "safety": safety}
    settings, time = build(data, home=home), SetClock()
    server = build_server(partial(open_gateway, settings, clock=time.clock()), settings)
    async with Client(server) as client:
        gateway = server.gateway.opened
        assert gateway is not None
        opened = await gateway.accounts.open()
        provider = Provider(opened.transport, opened.mailbox)
        provider.native_kinds = provider.native_kinds if is_native else frozenset()
        opened._transport = provider
        yield Desk(gateway, time, Caller(client), provider, is_native)


def log_lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """As an operator gets them."""
    return [json.loads(AllowListFormatter("json").format(record)) for record in caplog.records]


def is_preview(result: CallToolResult) -> bool:
    return result.is_error is False and (result.structured_content or {}).get("status") == "preview"
