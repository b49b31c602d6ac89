"""`postroom serve --http` in a process of its own, with other limits where a test cannot wait for the real ones."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.peers.daemon import free_ports, wait_for_listener

PATIENCE = 60.0  # seconds; nothing here should take as long
_MAIN = """
import sys
from postroom.doors.mcp.http import accept
from postroom.doors.mcp.http import deadlines
from postroom.doors.mcp import stopping
from postroom.__main__ import main
for module, name, value in {limits!r}:
    setattr({{"http_accept": accept, "http_deadlines": deadlines, "stopping": stopping}}[module], name, value)
sys.exit(main(["serve", "--http", *{options!r}]))
"""


@dataclass(slots=True)
class HttpProcess:
    port: int
    process: subprocess.Popen[bytes]
    stderr: Path

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE, source_address=(source, 0))

    def get(self, path: str = "/healthz", source: str = "127.0.0.1") -> bytes:
        """The answer to an ordinary request on a connection of its own."""
        with closing(self.connect(source)) as client:
            client.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % path.encode())
            return read_to_end(client)


@contextmanager
def http_process(
    home: Path,
    *,
    descriptors: int = 1024,
    limits: Mapping[tuple[str, str], float] | None = None,
    config: Path | None = None,
) -> Iterator[HttpProcess]:
    (port,) = free_ports(1)
    stderr = home / "stderr.txt"
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    listed = [(module, name, value) for (module, name), value in (limits or {}).items()]
    with stderr.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN.format(limits=listed, options=["--config", str(config)] if config else [])],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={
                **os.environ,
                "POSTROOM_HOME": str(home),
                "POSTROOM_SERVER__BIND_ADDR": f"127.0.0.1:{port}",
                "POSTROOM_SERVER__REQUESTS_PER_MINUTE": "0",
            },
            preexec_fn=lambda: _as_at_a_terminal(descriptors, hard),
        )
    try:
        wait_for_listener(port, stderr, process=process)
        yield HttpProcess(port, process, stderr)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _as_at_a_terminal(descriptors: int, hard: int) -> None:
    """Tests may run where a hangup is ignored (nohup), and a server would do the same."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def read_to_end(client: socket.socket) -> bytes:
    """Whatever comes until the server closes, orderly or not. A stream whose pings never end is a failure too."""
    received, deadline = b"", time.monotonic() + PATIENCE
    try:
        while chunk := client.recv(65536):
            received += chunk
            if time.monotonic() > deadline:
                raise TimeoutError(f"not ended after {PATIENCE} s: {received[-500:]!r}")
    except ConnectionError:
        pass
    return received
