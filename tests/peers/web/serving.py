"""An ASGI application on a loopback port, served by uvicorn in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from tests.peers.daemon import LOOPBACK
from uvicorn.protocols.http.h11_impl import H11Protocol


class _OpenProtocol(H11Protocol):
    """Lets the application reach the connection, so that it can cut it: ASGI has no word for that."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio does so only for sockets that were made with a protocol number; without it every answer waits 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.app_state = {**self.app_state, "transport": transport}


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Yields the address, ``http://127.0.0.1:port``."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        config = uvicorn.Config(
            app, http=_OpenProtocol, ws="none", lifespan="off", log_config=None, access_log=False, log_level="critical"
        )
        server = _Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="peer", daemon=True)
        thread.start()
        assert server.is_up.wait(20), "the server did not start"
        try:
            yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        finally:
            server.stop()
            thread.join(20)


class _Server(uvicorn.Server):
    """Stops at once: uvicorn's own way looks every tenth of a second and waits for its clients."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()

    async def main_loop(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self.is_up.set()
        await self._ended.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.gather(*self.server_state.tasks, return_exceptions=True)
