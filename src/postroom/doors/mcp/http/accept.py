"""The listening socket of the HTTP server: how many connections are accepted, and from whom.

A connection over the limit is closed before anything is allocated for it. asyncio asks this socket for connections
in a loop that `BlockingIOError` ends, so that a flood of them is refused one by one, between other work.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
from collections import Counter
from typing import Any

from postroom.doors.mcp.log import log

# Half of the 1,024 descriptors that most systems allow a process stay free for mailboxes, files and databases.
IN_ALL = 512
# One address cannot take them all. Not fewer, because behind a proxy every client has the proxy's address.
PER_CLIENT = 256

_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


class Listener(socket.socket):
    """Counts how many of its accepted connections are still open."""

    def __init__(self, bound: socket.socket) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        self._in_all = min(IN_ALL, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._open: Counter[str] = Counter()
        self._spare = _spare_descriptor()

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            accepted, address = super().accept()
        except OSError as error:
            if error.errno not in _OUT_OF_DESCRIPTORS or self._spare is None:
                raise
            self._refuse_without_descriptors()
            raise BlockingIOError from None
        client = address[0]
        if self._open[client] >= PER_CLIENT or self._open.total() >= self._in_all:
            accepted.close()
            log.warning("connection_refused", extra={"outcome": "too many connections"})
            raise BlockingIOError
        self._open[client] += 1
        return Connection(accepted, client, self._open), address

    def close(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        super().close()

    def _refuse_without_descriptors(self) -> None:
        """A connection that cannot be accepted stays in the queue and is reported for ever. The spare descriptor is
        used to accept it and close it."""
        assert self._spare is not None
        os.close(self._spare)
        with contextlib.suppress(OSError):
            super().accept()[0].close()
        self._spare = _spare_descriptor()
        log.warning("connection_refused", extra={"outcome": "out of file descriptors"})


class Connection(socket.socket):
    """Counts until it is closed, whoever closes it."""

    def __init__(self, accepted: socket.socket, client: str, counted: Counter[str]) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self._client = client
        self._counted: Counter[str] | None = counted

    def close(self) -> None:
        super().close()
        if self._counted is not None:
            self._counted[self._client] -= 1
            if not self._counted[self._client]:
                del self._counted[self._client]
            self._counted = None


def _spare_descriptor() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
