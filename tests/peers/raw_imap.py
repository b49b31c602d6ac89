"""An IMAP client without opinions: it sends what it is given, byte for byte, and hands out what comes back."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.peers.daemon import LOOPBACK
from tests.peers.dovecot import PASSWORD


class RawImap:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._numbers = itertools.count(1)
        self.greeting = self._line()

    def ask(self, *pieces: str | bytes) -> list[str]:
        """The lines of the answer, the last without its tag. Every piece but the first waits for the server's plus."""
        tag = f"t{next(self._numbers)}"
        lines: list[str] = []
        self._send(f"{tag} ".encode(), pieces[0])
        for piece in pieces[1:]:
            lines += self._answer(tag, "+")
            if lines[-1] != "+":
                return lines
            lines.pop()
            self._send(b"", piece)
        return lines + self._answer(tag)

    def send(self, text: bytes) -> None:
        self._connection.sendall(text)

    def rest(self) -> bytes:
        """Everything until the server hangs up."""
        return self._lines.read()

    def _send(self, before: bytes, piece: str | bytes) -> None:
        self.send(before + (piece.encode() if isinstance(piece, str) else piece) + b"\r\n")

    def _answer(self, tag: str, *ends: str) -> list[str]:
        lines: list[str] = []
        while True:
            first, _, rest = (line := self._line()).partition(" ")
            if first == tag or first in ends:
                return [*lines, rest if first == tag else first]
            lines.append(line)

    def _line(self) -> str:
        line = self._lines.readline()
        if not line:
            raise EOFError("the server hung up")
        return line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")


@contextmanager
def raw_imap(port: int, user: str = "") -> Iterator[RawImap]:
    """Logged in as that user, if one is named."""
    with socket.create_connection((LOOPBACK, port), timeout=20) as connection:
        client = RawImap(connection)
        if user:
            assert client.ask(f'LOGIN "{user}" "{PASSWORD}"')[-1].startswith("OK")
        yield client
