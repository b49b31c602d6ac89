"""A process that sends one mail over JMAP and is killed while it does."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from tests.gate.rigs import MAIL, GateRig, SetClock
from tests.peers.jmap import ADDRESS, TOKEN

from postroom.settings import build
from postroom.wiring import open_gateway

LETTER = replace(MAIL, bcc=("carol@demo.example",))


@asynccontextmanager
async def jmap_rig(home: Path, url: str, time: SetClock | None = None) -> AsyncIterator[GateRig]:
    account = {"name": "alice", "provider": "jmap", "address": ADDRESS, "session_url": url, "token": TOKEN}
    settings = build({"accounts": [account], "safety": {"gate": "confirm"}, "network": {"proxies": False}}, home=home)
    time = time or SetClock()
    async with open_gateway(settings, clock=time.clock()) as gateway:
        yield GateRig(gateway, time)


async def main(home: Path, url: str) -> None:
    async with jmap_rig(home, url) as gate:
        await gate.send(LETTER, idempotency_key="order-1")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
