"""A server over a gateway with nothing in it: enough to try what happens around a call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from postroom.doors.mcp.server import OpenGateway, PostroomServer, build_server
from postroom.service.gateway import Gateway
from postroom.settings import Settings, build

ACCOUNT = {"name": "alex", "provider": "local", "address": "alex@demo.example", "path": "alex.db"}


class CountingDoor:
    """Opens the empty gateway and counts how often it was opened and closed."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Gateway]:
        self.opened += 1
        account = SimpleNamespace(name="alex", provider="local", address="alex@demo.example")
        accounts = SimpleNamespace(configured=(account,), outages=dict)
        yield cast("Any", SimpleNamespace(accounts=accounts, store=NO_PAUSES))
        self.closed += 1


NO_PAUSES = SimpleNamespace(pauses=SimpleNamespace(all=lambda **_: ()))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return build({"accounts": [ACCOUNT]}, home=tmp_path)


@pytest.fixture
def door() -> CountingDoor:
    return CountingDoor()


@pytest.fixture
def server(door: CountingDoor, settings: Settings) -> PostroomServer:
    return build_server(cast("OpenGateway", door), settings)
