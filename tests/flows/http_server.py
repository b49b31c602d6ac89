"""The HTTP server, in this process, on a port of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from postroom.doors.mcp.serve import serve_http
from postroom.settings import Settings


@asynccontextmanager
async def serving(settings: Settings, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Yields the address of its `/mcp`."""
    known, ports = anyio.Event(), list[int]()

    def announce(port: int) -> None:
        ports.append(port)
        known.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_http, settings, host, 0, announce)
        await known.wait()
        yield f"http://{host}:{ports[0]}/mcp"
        tasks.cancel_scope.cancel()
