"""Watches inboxes for subscribers: each once, however many subscribe, and only while somebody does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated

from postroom.model.errors import Unsupported
from postroom.service.gateway import Gateway

OpenGateway = Callable[[], AbstractAsyncContextManager[Gateway]]

PATIENCE = 5.0  # seconds a new listener waits at most for its inbox to be watched
BREATH = 0.2  # seconds between two messages about one inbox: a burst of changes gives one notification


@dataclass(slots=True)
class _Watch:
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_settled: anyio.Event = field(default_factory=anyio.Event)  # it is being watched, or cannot be
    is_possible: bool = True
    listeners: int = 0


class Live:
    """`inboxes` are the resources that can be watched, URI to account. Their changes are published on `bus`."""

    def __init__(self, inboxes: Mapping[str, str]) -> None:
        self.inboxes = inboxes
        self.bus = InMemorySubscriptionBus()
        self.tasks: TaskGroup  # runs while the gateway is open
        self._gateway: Gateway
        self._watches: dict[str, _Watch] = {}

    def beside(self, open_gateway: OpenGateway) -> OpenGateway:
        """The same gateway, with inboxes watched while it is open."""

        @asynccontextmanager
        async def opened() -> AsyncIterator[Gateway]:
            async with open_gateway() as gateway, anyio.create_task_group() as tasks:
                self._gateway, self.tasks = gateway, tasks
                yield gateway
                tasks.cancel_scope.cancel()

        return opened

    @asynccontextmanager
    async def watching(self, uris: Iterable[str]) -> AsyncIterator[list[str]]:
        """Keeps these inboxes watched; yields those that can be.

        A caller that subscribes to the bus first, reads the inbox and reads it again when notified, misses nothing.
        An account that cannot be reached within `PATIENCE` is notified of once it can.
        """
        known = [uri for uri in dict.fromkeys(uris) if uri in self.inboxes]
        watches = [self._joined(uri) for uri in known]
        try:
            with anyio.move_on_after(PATIENCE):
                for watch in watches:
                    await watch.is_settled.wait()
            yield [uri for uri, watch in zip(known, watches, strict=True) if watch.is_possible]
        finally:
            for uri in known:
                self._leave(uri)

    def _joined(self, uri: str) -> _Watch:
        if uri not in self._watches:
            self._watches[uri] = _Watch()
            self.tasks.start_soon(self._watch, uri, self._watches[uri])
        self._watches[uri].listeners += 1
        return self._watches[uri]

    def _leave(self, uri: str) -> None:
        watch = self._watches[uri]
        watch.listeners -= 1
        if not watch.listeners:
            del self._watches[uri]
            watch.scope.cancel()

    async def _watch(self, uri: str, watch: _Watch) -> None:
        from postroom.service.accounts.watching import changes

        with watch.scope:
            try:
                async with aclosing(changes(self._gateway, self.inboxes[uri])) as news:
                    async for _ in news:
                        watch.is_settled.set()
                        await self.bus.publish(ResourceUpdated(uri))
                        await anyio.sleep(BREATH)
            except Unsupported:
                watch.is_possible = False
                watch.is_settled.set()
