"""More requests than can be worked on: they wait in turn, then are turned away; what has begun goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from tests.unit.doors.mcp.test_http import CALL, LIST, Running, post
from tests.unit.doors.mcp.test_http_request_ids import Held

from postroom.doors.mcp.http import admission
from postroom.doors.mcp.http.admission import Admission, Busy
from postroom.doors.mcp.http.app import http_app
from postroom.doors.mcp.server import PostroomServer

NEVER, ALWAYS = -1.0, float("inf")


@pytest.fixture
async def one(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Admission]:
    """One at a time, on a loop that is never calm, with all the time in the world."""
    monkeypatch.setattr(admission, "CALM_SECONDS", NEVER)
    monkeypatch.setattr(admission, "WAIT_SECONDS", 60.0)
    found = Admission(1)
    async with found.open():
        yield found


async def test_turns_are_taken_by_caller_and_not_by_number(one: Admission) -> None:
    done: list[str] = []

    async def work(caller: str) -> None:
        async with one.turn(caller):
            done.append(caller)

    async with one.turn("first"):
        async with anyio.create_task_group() as tasks:
            for caller in ("many", "many", "many", "few"):
                tasks.start_soon(work, caller)
                await anyio.wait_all_tasks_blocked()
            assert done == []
            one._end()  # as if the first were done
        one._running += 1

    assert done == ["many", "few", "many", "many"]


async def test_whoever_waits_too_long_is_turned_away_and_leaves_no_trace(
    one: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "WAIT_SECONDS", 0.01)
    async with one.turn("a"):
        with pytest.raises(Busy):
            await one.turn("b").__aenter__()
    async with one.turn("b"):
        pass
    assert one.turned_away == 1


async def test_a_client_that_hangs_up_gives_its_place_to_the_next(one: Admission) -> None:
    done = anyio.Event()

    async def work() -> None:
        async with one.turn("b"):
            done.set()

    async with anyio.create_task_group() as tasks:
        async with one.turn("a"):
            with anyio.move_on_after(0):
                await one.turn("b").__aenter__()
            tasks.start_soon(work)
            await anyio.wait_all_tasks_blocked()
        await done.wait()
    async with one.turn("c"):
        pass


async def test_while_the_loop_is_calm_those_that_wait_for_something_keep_nobody_out(
    one: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "CALM_SECONDS", ALWAYS)
    async with one.turn("a"), one.turn("b"), one.turn("c"):
        pass
    assert one.turned_away == 0


def test_a_busy_server_says_so_and_finishes_what_it_has_begun(
    server: PostroomServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "CALM_SECONDS", NEVER)
    monkeypatch.setattr(admission, "WAIT_SECONDS", 0.01)
    held = Held(server, monkeypatch)
    with Running(http_app(server, calls_at_once=1)) as url, ThreadPoolExecutor(1) as thread:
        begun = thread.submit(post, url, CALL)
        assert held.reached.wait(60)
        refused = post(url, {**LIST, "id": "mine"})
        notified = post(url, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
        held.released.set()

        assert begun.result(60).status_code == 200
        assert post(url, LIST).status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["id"] == "mine"
    assert "nothing was done" in refused.json()["error"]["message"]
    assert notified.status_code == 202
    assert "postroom_requests_turned_away_total 1" in server.metrics.text()
