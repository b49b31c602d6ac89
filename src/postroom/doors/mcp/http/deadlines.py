"""How long a client may take: to send its headers, to send its body, to read the response.

uvicorn bounds only the pause between two requests, so a client that sends a byte a second would hold its connection for
ever. Between a complete request and its response there is no limit: event streams stay open for days.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0  # usually sent at once; more means network trouble or an attack
BODY_SECONDS = 60.0  # 4 MB in that time is 70 KB a second
ANSWER_SECONDS = 60.0  # without the client reading anything that is waiting for it
KEEP_ALIVE_SECONDS = 5  # between two requests


class DeadlineProtocol(H11Protocol):
    """Each deadline runs from the beginning of its phase: more bytes of the same phase do not extend it.

    A phase is the state in which h11 sees the client: IDLE until its headers are complete, SEND_BODY until its body is.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._phase: Any = None
        self._deadline: asyncio.TimerHandle | None = None
        self._answer_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._enter(h11.IDLE)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._enter(self.conn.their_state)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        is_silent = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        self._enter(None if is_silent else self.conn.their_state)  # uvicorn times out a silent one

    def send_400_response(self, msg: str) -> None:
        """To a body that breaks the protocol. The application may be about to refuse the same request by its headers:
        only one of the two can be sent."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer_deadline = self.loop.call_later(ANSWER_SECONDS, self._cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._answer_deadline)

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter(None)
        _cancel(self._answer_deadline)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def _enter(self, phase: Any) -> None:
        if phase is self._phase:
            return
        _cancel(self._deadline)
        self._phase, self._deadline = phase, None
        if phase in (h11.IDLE, h11.SEND_BODY):
            seconds = HEADER_SECONDS if phase is h11.IDLE else BODY_SECONDS
            self._deadline = self.loop.call_later(seconds, self._cut_off)

    def _cut_off(self) -> None:
        """With a reset: otherwise the kernel would keep trying to deliver what the client does not read."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
