"""An SMTP server that says exactly the bytes it is told to, and writes down every line it hears."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.peers.daemon import LOOPBACK

DOT = "."
GREETING = "greeting"
USUAL = {
    GREETING: b"220 raw\r\n",
    "EHLO": b"250-raw\r\n250-SIZE 1000000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN LOGIN\r\n",
    "AUTH": b"235 in\r\n",
    "DATA": b"354 go on\r\n",
    "QUIT": b"221 bye\r\n",
}


@dataclass(slots=True)
class RawSmtp:
    """`says` by verb (DOT is what follows the mail); `ends_after` is the verb whose answer is followed by a hang-up."""

    says: dict[str, bytes] = field(default_factory=dict)
    ends_after: str = ""
    heard: list[bytes] = field(default_factory=list)
    mails: list[bytes] = field(default_factory=list)
    cut_short: bytes = b""  # what came of a mail whose dot never came
    port: int = 0
    host: str = LOOPBACK

    def verbs(self) -> list[str]:
        return [_verb(line) for line in self.heard]

    def answer(self, verb: str) -> bytes:
        return self.says.get(verb, USUAL.get(verb, b"250 ok\r\n"))


class _Conversation(socketserver.StreamRequestHandler):
    timeout = 30

    def handle(self) -> None:
        script: RawSmtp = self.server.script  # type: ignore[attr-defined]
        if not self._say(script, GREETING):
            return
        while line := self.rfile.readline():
            script.heard.append(line.rstrip(b"\r\n"))
            verb = _verb(line)
            if not self._say(script, verb) or verb == "QUIT":
                return
            takes_mail = verb == "DATA" and script.answer("DATA").startswith(b"354")
            if takes_mail and not (self._took_mail(script) and self._say(script, DOT)):
                return

    def _took_mail(self, script: RawSmtp) -> bool:
        lines = []
        while line := self.rfile.readline():
            if line == b".\r\n":
                script.mails.append(b"".join(lines))
                return True
            lines.append(line)
        script.cut_short = b"".join(lines)
        return False

    def _say(self, script: RawSmtp, verb: str) -> bool:
        self.wfile.write(script.answer(verb))
        return script.ends_after != verb


def _verb(line: bytes) -> str:
    return line.split(b" ")[0].strip().decode("ascii", "replace").upper()


class _Server(socketserver.ThreadingTCPServer):
    """Closing it waits for every conversation, so that after it all that was said has been heard."""

    script: RawSmtp

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to report."""


@contextmanager
def raw_smtp(**says: bytes) -> Iterator[RawSmtp]:
    server = _Server((LOOPBACK, 0), _Conversation)
    server.script = RawSmtp(says=says, port=server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="raw smtp", daemon=True)
    thread.start()
    try:
        yield server.script
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
