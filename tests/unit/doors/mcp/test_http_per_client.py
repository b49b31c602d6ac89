"""Who has to make room when there are too many bearers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from postroom.doors.mcp.http import per_client
from postroom.doors.mcp.http.callers import CLIENT, Callers
from postroom.doors.mcp.http.per_client import PerClient
from postroom.settings.clients import Client


class Listed(Callers):
    def __init__(self, bearers: list[Client], clients: list[Client]) -> None:
        super().__init__()
        self._listed = bearers, clients

    def bearers(self) -> list[Client]:
        return self._listed[0]

    def clients(self) -> tuple[Client, ...]:
        return tuple(self._listed[1])


class Recorded:
    """An application that answers when the request's event is set, and says when it runs."""

    def __init__(self, name: str, running: set[str]) -> None:
        self._name, self._running = name, running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["answered"].wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._running.add(self._name)
        try:
            yield
        finally:
            self._running.discard(self._name)

    def close_streams(self) -> None:
        pass


async def _nothing(*_: Message) -> Message:
    return {"type": "http.disconnect"}


async def test_idle_bearers_make_room_before_busy_ones_and_clients_of_the_operator_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(per_client, "MOST_BEARERS", 2)
    own, busy, idle, late, last = (Client(name, "") for name in ("own", "busy", "idle", "late", "last"))
    running: set[str] = set()
    app = PerClient(
        Recorded("everything", running),
        Listed([busy, idle, late, last], [own]),
        lambda client: Recorded(client.name, running),
    )
    held, open_now = anyio.Event(), anyio.Event()
    open_now.set()

    async def ask(client: Client, answered: anyio.Event = open_now) -> None:
        await app({"type": "http", CLIENT: client, "answered": answered}, _nothing, _nothing)  # type: ignore[arg-type]

    async with app.running(), anyio.create_task_group() as tasks:
        await ask(own)
        tasks.start_soon(ask, busy, held)
        await anyio.wait_all_tasks_blocked()
        await ask(idle)
        await ask(late)
        await anyio.wait_all_tasks_blocked()
        assert running == {"everything", "own", "busy", "late"}

        tasks.start_soon(ask, late, held)
        await anyio.wait_all_tasks_blocked()
        await ask(last)
        await anyio.wait_all_tasks_blocked()
        assert running == {"everything", "own", "busy", "late", "last"}  # what has begun is finished first
        held.set()
        await anyio.wait_all_tasks_blocked()
        assert running == {"everything", "own", "late", "last"}
