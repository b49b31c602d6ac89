"""A server in the test's hand, and an Api that never really waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from postroom.providers.http.api import Api
from postroom.providers.http.client import new_client
from postroom.providers.http.quota import Quota
from postroom.providers.layers.retry import Retry

from .scripted_http import Server, serving

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


class Waits:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as told:
        yield told


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def make_api(server: Server, waits: Waits) -> AsyncIterator[Callable[..., Api]]:
    made: list[Api] = []

    def make(base_url: str = "", **options: Any) -> Api:
        retry = Retry(attempts=3, sleep=waits.sleep, clock=waits.clock, chance=lambda: 0.0)
        quota = Quota(sleep=waits.sleep, clock=waits.clock)
        client = new_client(timeout=5, proxies=False)
        made.append(
            Api(
                base_url or server.url,
                client,
                **{"account": "work", "retry": retry, "quota": quota, "wall_clock": lambda: NOW, **options},
            )
        )
        return made[-1]

    yield make
    for api in made:
        await api.close()


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api()
