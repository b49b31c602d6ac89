"""The password check that Cyrus asks (saslauthd's protocol on a socket): any user, one password."""

from __future__ import annotations

import os
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class _Check(socketserver.StreamRequestHandler):
    """Four strings come, each after its length: user, password, service, realm. One goes back."""

    timeout = 10

    def handle(self) -> None:
        _, password, _, _ = (self._string() for _ in range(4))
        answer = b"OK" if password == self.server.password else b"NO"  # type: ignore[attr-defined]
        self.wfile.write(struct.pack(">H", len(answer)) + answer)

    def _string(self) -> bytes:
        (length,) = struct.unpack(">H", self.rfile.read(2))
        return self.rfile.read(length)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    password = b""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to report."""


@contextmanager
def saslauthd(socket: Path, password: str, owner: int) -> Iterator[None]:
    with _Server(str(socket), _Check) as server:
        server.password = password.encode()
        os.chown(socket, owner, -1)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="saslauthd", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join(5)
