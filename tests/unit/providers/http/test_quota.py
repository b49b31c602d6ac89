"""The pace of requests, counted before they are made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import pytest

from postroom.model.errors import ProviderUnavailable, RateLimited
from postroom.providers.http.api import Api
from postroom.providers.http.quota import Quota, Rate

from .conftest import Waits
from .scripted_http import Reply, Server

Make = Callable[..., Api]


async def spend(quota: Quota, *prices: float) -> None:
    for units in prices:
        async with quota.spend(units):
            pass


async def test_units_are_counted_beside_requests(waits: Waits) -> None:
    quota = Quota(requests=Rate(10, 3), units=Rate(100, 50), sleep=waits.sleep, clock=waits.clock)
    await spend(quota, 20, 20, 5)
    assert waits.slept == []  # three requests and 45 units: within both bursts
    await spend(quota, 30)
    assert waits.slept == [pytest.approx(0.25)]  # 75 of 50 units: the units wait longer than the requests


async def test_requests_alone_are_a_limit_too(waits: Waits) -> None:
    quota = Quota(requests=Rate(10, 2), units=Rate(1000, 1000), sleep=waits.sleep, clock=waits.clock)
    await spend(quota, 1, 1, 1)
    assert waits.slept == [pytest.approx(0.1)]


async def test_what_is_dearer_than_the_whole_burst_is_paid_off_afterwards(waits: Waits) -> None:
    quota = Quota(units=Rate(100, 50), sleep=waits.sleep, clock=waits.clock)
    await spend(quota, 100, 50)
    assert waits.slept == [pytest.approx(1.0)]


async def test_a_wait_beyond_patience_is_refused_and_costs_nothing(waits: Waits) -> None:
    quota = Quota(units=Rate(1, 10), patience=5, sleep=waits.sleep, clock=waits.clock)
    await spend(quota, 10)
    with pytest.raises(RateLimited) as caught:
        await spend(quota, 10)
    assert caught.value.retry_after == pytest.approx(10)
    await spend(quota, 4)
    assert waits.slept == [pytest.approx(4)]


async def test_no_more_than_the_cap_run_at_once(server: Server, make_api: Make) -> None:
    server.gate = asyncio.Event()
    api = make_api(quota=Quota(at_once=4))
    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(api.read, f"/{number}")
        while server.running < 4:
            await asyncio.sleep(0)
        server.gate.set()
    assert len(server.asked) == 12
    assert server.most_running == 4


async def test_everybody_keeps_away_until_the_time_the_service_named(
    server: Server, make_api: Make, waits: Waits
) -> None:
    server.replies = [Reply(429, headers={"Retry-After": "60"}), Reply(body={})]
    api = make_api(quota=Quota(patience=30, sleep=waits.sleep, clock=waits.clock))
    with pytest.raises(RateLimited):
        await api.read("/x")
    with pytest.raises(RateLimited):
        await api.write("POST", "/y", content={})
    assert len(server.asked) == 1
    waits.now += 50
    await api.read("/x")
    assert waits.slept == [pytest.approx(10)]


async def test_a_service_that_named_hours_is_asked_again_within_a_quarter_of_one(
    server: Server, make_api: Make, waits: Waits
) -> None:
    """It may have recovered, and until then nothing can be read."""
    late = Reply(503, headers={"Retry-After": "86400"})
    server.replies = [late, late, Reply(body={})]
    api = make_api(quota=Quota(patience=30, sleep=waits.sleep, clock=waits.clock))
    for _ in range(2):
        with pytest.raises(ProviderUnavailable):
            await api.read("/x")
        waits.now += 800
        with pytest.raises(RateLimited):
            await api.read("/x")
        waits.now += 100
    assert len(server.asked) == 2
    await api.read("/x")
    assert len(server.asked) == 3
