"""One application per client: started when the client first asks, stopped when what it may do changes. Of bearers of
access tokens, who may be many, only those who asked last have one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Set
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import anyio
from anyio.abc import TaskGroup
from starlette.types import Receive, Scope, Send

from postroom.doors.mcp.http.callers import CLIENT, Callers
from postroom.doors.mcp.http.problems import problem
from postroom.doors.mcp.server import PostroomServer
from postroom.settings import SettingsError
from postroom.settings.clients import Client

ServerFor = Callable[[Client], PostroomServer]  # SettingsError if nothing is left that this client may do
LOOK_SECONDS = 2.0  # how often open streams of revoked clients are looked for
FINISH_SECONDS = 30.0  # that requests which have begun may take to end once their application is to stop
MOST_BEARERS = 100  # of access tokens, whose applications run at once; each takes 1.4 MB


class App(Protocol):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def running(self) -> AbstractAsyncContextManager[None]: ...

    def close_streams(self) -> None: ...


@dataclass(slots=True)
class _Started:
    app: App
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_settled: anyio.Event = field(default_factory=anyio.Event)
    in_progress: int = 0
    is_idle: anyio.Event = field(default_factory=anyio.Event)  # once it is to end

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.in_progress += 1
        try:
            await self.is_settled.wait()
            await self.app(scope, receive, send)
        finally:
            self.in_progress -= 1
            if not self.in_progress:
                self.is_idle.set()

    async def end(self) -> None:
        """What has begun, such as a send, is finished and answered; streams that only wait are closed."""
        self.app.close_streams()
        self.is_idle = anyio.Event()
        if self.in_progress:
            with anyio.move_on_after(FINISH_SECONDS):
                await self.is_idle.wait()
        self.scope.cancel()

    async def run(self) -> None:
        try:
            with self.scope:
                async with self.app.running():
                    self.is_settled.set()
                    await anyio.sleep_forever()
        finally:
            self.is_settled.set()


class PerClient:
    """`everything` serves requests that are not limited to what a client may do."""

    def __init__(self, everything: App, callers: Callers, build: Callable[[Client], App]) -> None:
        self._everything = everything
        self._callers = callers
        self._build = build
        self._started: dict[Client, _Started] = {}  # whoever asked last is last
        self._admitted_everybody = False
        self._tasks: TaskGroup

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._admitted_everybody = self._callers.admit_everybody
        async with self._everything.running(), anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._keep_looking)
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client: Client | None = scope.get(CLIENT)
        if client is None:
            await self._everything(scope, receive, send)
            return
        try:
            started = self._for(client)
        except SettingsError as error:
            await problem(403, f"Nothing is left that this client may use. {error.message}")(scope, receive, send)
            return
        await started.answer(scope, receive, send)

    def close_streams(self) -> None:
        for app in (self._everything, *(started.app for started in self._started.values())):
            app.close_streams()

    def _for(self, client: Client) -> _Started:
        self._stop_outdated()
        started = self._started.pop(client, None) or self._start(client)
        self._started[client] = started
        return started

    def _start(self, client: Client) -> _Started:
        started = _Started(self._build(client))
        self._tasks.start_soon(started.run)
        bearers = self._callers.bearers()
        if client in bearers:
            self._make_room(set(bearers))
        return started

    def _make_room(self, bearers: Set[Client]) -> None:
        """For one more of them. Whoever has to go loses its sessions, and gets new ones when it asks again."""
        running = [each for each in self._started if each in bearers]
        if len(running) >= MOST_BEARERS:
            idle = [each for each in running if not self._started[each].in_progress]
            self._stop((idle or running)[0])

    async def _keep_looking(self) -> None:
        while True:
            await anyio.sleep(LOOK_SECONDS)
            self._stop_outdated()
            self._close_to_everybody()
            for client, started in self._started.items():
                if self._callers.is_expired(client):
                    started.app.close_streams()

    def _stop_outdated(self) -> None:
        current = self._callers.current()
        for client in [each for each in self._started if each not in current]:
            self._stop(client)

    def _close_to_everybody(self) -> None:
        """Streams that were opened without a token end once one is required."""
        before, self._admitted_everybody = self._admitted_everybody, self._callers.admit_everybody
        if before and not self._admitted_everybody:
            self._everything.close_streams()

    def _stop(self, client: Client) -> None:
        self._tasks.start_soon(self._started.pop(client).end)
