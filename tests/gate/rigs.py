"""A gateway for the tests of the gate: local accounts, a settable clock, a transport that can be told to misbehave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.providers.protocol import Transport
from postroom.service.gateway import Gateway
from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.sending.order import Answered, Order, Wishes
from postroom.service.views import SendView
from postroom.service.writing import composing
from postroom.settings import build
from postroom.store.clock import Clock
from postroom.wiring import open_gateway

START = 1_800_000_000.0
CONFIRMED = Wishes(confirm=True)
MAIL = composing.DraftRequest(to=("bob@demo.example",), subject="Lunch?", body="Shall we say noon?")


@dataclass
class SetClock:
    """Both clocks of the store in the test's hand."""

    wall: float = START
    boottime: float = 1000.0
    boot_id: str = "boot-1"

    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.boottime, self.boot_id)

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.boottime += seconds


@dataclass
class Meddled:
    """Stands in front of a real transport: counts what passes, and does what it is told instead."""

    real: Transport
    submitted: list[SubmitRequest] = field(default_factory=list)
    before: Callable[[SubmitRequest], SubmitOutcome | None] = lambda _: None
    after: Callable[[SubmitOutcome], SubmitOutcome] = lambda outcome: outcome
    reconciled: Callable[[SubmitRequest], SubmitOutcome | None] = lambda _: None

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        self.submitted.append(request)
        instead = self.before(request)
        return instead if instead is not None else self.after(await self.real.submit(request))

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        instead = self.reconciled(request)
        return instead if instead is not None else await self.real.reconcile(request)

    async def close(self) -> None:
        await self.real.close()


@dataclass
class GateRig:
    gateway: Gateway
    time: SetClock

    async def order(self, request: composing.DraftRequest = MAIL, wishes: Wishes = CONFIRMED) -> Order:
        return await send.order_mail(self.gateway, request, wishes)

    async def send(self, request: composing.DraftRequest = MAIL, **wishes: Any) -> SendView:
        return await send.send(self.gateway, await self.order(request, replace(CONFIRMED, **wishes)))

    async def asked(self, request: composing.DraftRequest = MAIL, **wishes: Any) -> Wishes:
        """Ask the person about it; the wishes of the call that brings a yes."""
        askable = replace(CONFIRMED, can_elicit=True, **wishes)
        question = await send.question(self.gateway, await self.order(request, askable))
        assert question is not None
        return replace(askable, answer=Answered("accepted", question.send_id))

    async def inbox(self, account: str = "bob") -> list[str]:
        page = await search.list_emails(self.gateway, account=account, limit=100)
        return [row.subject for row in page.results]

    async def meddle(self, account: str = "alice") -> Meddled:
        opened = await self.gateway.accounts.open(account)
        meddled = Meddled(opened.transport)
        opened._transport = meddled
        return meddled

    def audit(self) -> list[dict[str, Any]]:
        return self.gateway.store.audit.recent(100)


def vars_of(wishes: Wishes) -> dict[str, Any]:
    return {name: getattr(wishes, name) for name in Wishes.__slots__}


ACCOUNTS = ("alice", "bob", "carol")


@asynccontextmanager
async def gate_rig(
    home: Path,
    *,
    time: SetClock | None = None,
    dialect: str = "postroom",
    read_only: bool = False,
    timezone: str = "UTC",
    accounts: Sequence[dict[str, Any]] = (),
    toolsets: Sequence[str] = (),
    **safety: Any,
) -> AsyncIterator[GateRig]:
    """Local accounts, unless others are given."""
    accounts = accounts or [
        {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db"}
        for name in ACCOUNTS
    ]
    time = time or SetClock()
    server: dict[str, Any] = {"dialect": dialect, "read_only": read_only, "timezone": timezone}
    server |= {"toolsets": list(toolsets)} if toolsets else {}
    settings = build({"server": server, "accounts": accounts, "safety": {"gate": "confirm", **safety}}, home=home)
    async with open_gateway(settings, clock=time.clock()) as gateway:
        yield GateRig(gateway, time)
