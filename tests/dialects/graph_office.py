"""The dialect graph on the fake Microsoft Graph: two mailboxes, and every request as it came over the wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mcp import Client
from tests.dialects.graph_desk import PLAIN
from tests.flows.caller import Caller
from tests.gate.rigs import SetClock
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.operations import ALL
from tests.peers.web.messages import Answer, Recorded, Request

from postroom.doors.mcp.server import build_server
from postroom.service.gateway import Gateway
from postroom.settings import build
from postroom.wiring import open_gateway

NUMBERS = count()
SCOPES = frozenset({*ALL, *(f"{scope}.Shared" for scope in ALL)})


class Recording(FakeGraph):
    """Keeps the bodies too."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.seen: list[Request] = []

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        self.seen.append(request)
        return super().respond(request, recorded)


@dataclass
class Office:
    call: Caller
    graph: Recording
    gateway: Gateway
    time: SetClock
    me: Mailbox
    you: Mailbox

    @property
    def mail(self) -> dict[str, Any]:
        return {"to": [self.you.address], "subject": "Angebot", "body": "Guten Tag."}

    def letter(self, raw: str = PLAIN) -> str:
        raw = raw.replace("bob@demo.example", self.you.address).replace("alice@demo.example", self.me.address)
        return str(self.graph.deliver(self.me, raw.encode()).immutable_id)

    async def sent(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.call.ok(tool, **arguments, confirm=True)

    async def refusal(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return await self.call.error(tool, **arguments, confirm=True)

    def posts(self) -> list[tuple[str, Any]]:
        """Path below the version, and body, of every POST that writes."""
        return [
            (unquote(one.path).partition("/v1.0")[2], json.loads(one.body))
            for one in self.graph.seen
            if one.method == "POST" and not one.path.endswith("/$batch")
        ]

    def requests(self, method: str) -> list[str]:
        """As they came: path below the version, query, nothing decoded."""
        seen = [one for one in self.graph.seen if one.method == method]
        return [one.path.partition("/v1.0")[2] + (f"?{one.query}" if one.query else "") for one in seen]


@asynccontextmanager
async def office(graph: Recording, home: Path, scopes: Iterable[str] = SCOPES) -> AsyncIterator[Office]:
    number = next(NUMBERS)
    me, you = (graph.user(f"{who}{number}@contoso.example") for who in ("me", "you"))
    account = {
        "name": "mine",
        "provider": "graph",
        "address": me.address,
        "base_url": graph.base_url,
        "token": graph.token(me, scopes),
    }
    settings = build({"server": {"dialect": "graph"}, "accounts": [account]}, home=home)
    time = SetClock()
    server = build_server(partial(open_gateway, settings, clock=time.clock()), settings)
    async with Client(server) as client:
        gateway = server.gateway.opened
        assert gateway is not None
        graph.seen.clear()
        yield Office(Caller(client), graph, gateway, time, me, you)


def addresses(*emails: str) -> list[dict[str, Any]]:
    return [{"emailAddress": {"address": email}} for email in emails]


def inbox(user: Mailbox) -> list[str]:
    return [message.content.subject for message in user.within("inbox")]
