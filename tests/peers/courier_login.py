"""Stands in for Courier's listener and login program, whose settings would have to lie in /etc.

Run as ``python -m tests.peers.courier_login PORT MAIL PROGRAMS``: a process per connection holds the dialogue before
login and then becomes the real `imapd`. All of them are in the process group of the first.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.courier_monitor import listen_as_monitor, tell_of_locks
from tests.peers.daemon import LOOPBACK
from tests.peers.dovecot import MAIL_OWNER, PASSWORD

CAPABILITY = "IMAP4rev1 UIDPLUS CHILDREN NAMESPACE THREAD=ORDEREDSUBJECT THREAD=REFERENCES SORT QUOTA IDLE"
_OFFERED = f"{CAPABILITY} ENABLE UTF8=ACCEPT".encode()  # imapd adds the last two, whatever it is told to offer
_LITERAL = re.compile(rb"\{(\d+)\}\r\n\Z")
_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"|([^ "\r\n]+)')
_ESCAPE = re.compile(rb"\\(.)")


@dataclass(frozen=True, slots=True)
class Login:
    """Who logged in, and the tag of the command that did it: `imapd` answers that."""

    tag: str
    user: str


class Dialogue:
    """Reads nothing beyond the command that logs in: whatever follows it is for `imapd`."""

    def __init__(self, connection: socket.socket) -> None:
        self._stream = connection.makefile("rwb", buffering=0)

    def login(self) -> Login | None:
        """None when the client left without one."""
        self._say(b"* OK [CAPABILITY " + _OFFERED + b"] Courier-IMAP ready.")
        while words := self._command():
            tag, name, *arguments = [*words, b""]
            name = name.upper()
            if name == b"LOGOUT":
                self._say(b"* BYE Courier-IMAP server shutting down")
                self._say(tag + b" OK LOGOUT completed")
                return None
            if name not in (b"LOGIN", b"AUTHENTICATE"):
                self._say(tag + b" " + self._answer(name))
            elif user := self._proven(name, arguments):
                return Login(tag.decode(), user)
            else:
                self._say(tag + b" NO Login failed.")
        return None

    def _answer(self, name: bytes) -> bytes:
        if name == b"CAPABILITY":
            self._say(b"* CAPABILITY " + _OFFERED)
        known = name in (b"CAPABILITY", b"NOOP")
        return b"OK " + name + b" completed" if known else b"NO Error in IMAP command received by server."

    def _proven(self, name: bytes, arguments: list[bytes]) -> str:
        """The user whose password was given; empty where it was not."""
        if name == b"AUTHENTICATE":
            arguments = self._plain() if arguments[0].upper() == b"PLAIN" else []
        return arguments[0].decode() if arguments[1:2] == [PASSWORD.encode()] else ""

    def _plain(self) -> list[bytes]:
        self._say(b"+ ")
        with suppress(binascii.Error):
            return base64.b64decode(self._stream.readline()).split(b"\0")[1:]
        return []

    def _command(self) -> list[bytes]:
        """Tag, name and arguments of the next command; nothing when there is none."""
        words: list[bytes] = []
        line = self._stream.readline()
        while found := _LITERAL.search(line):
            self._say(b"+ OK")
            words += [*_words(line[: found.start()]), self._exactly(int(found[1]))]
            line = self._stream.readline()
        return words + _words(line)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (more := self._stream.read(size - len(data))):
            data += more
        return data

    def _say(self, line: bytes) -> None:
        self._stream.write(line + b"\r\n")


def _words(line: bytes) -> list[bytes]:
    return [found[2] or _ESCAPE.sub(rb"\1", found[1]) for found in _WORD.finditer(line)]


@dataclass(frozen=True, slots=True)
class Listener:
    port: int
    mail: Path
    programs: Path
    name: str = field(default_factory=lambda: str(os.getpid()))  # of the monitor: another one after each start

    def serve(self) -> None:
        """Until it is killed."""
        os.setgroups([])
        os.setgid(MAIL_OWNER)
        os.setuid(MAIL_OWNER)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
        with (
            socket.create_server((LOOPBACK, self.port), backlog=64) as door,
            listen_as_monitor(MAIL_OWNER, self.name) as monitor,
        ):
            work = {door: self._converse, monitor: tell_of_locks}
            while True:
                for listening in select.select(list(work), (), ())[0]:
                    connection, _ = listening.accept()
                    if os.fork() == 0:
                        door.close()
                        monitor.close()
                        _do_and_exit(work[listening], connection)
                    connection.close()

    def _converse(self, connection: socket.socket) -> None:
        """Becomes `imapd` when somebody has logged in."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # imapd writes in small pieces
        login = Dialogue(connection).login()
        if login is None:
            return
        os.chdir(self.mail / login.user)
        os.dup2(connection.fileno(), 0)
        os.dup2(connection.fileno(), 1)
        os.execve(self.programs / "imapd", ["imapd", "Maildir"], self._environment(login))

    def _environment(self, login: Login) -> dict[str, str]:
        """What Courier's settings and its login program would have told `imapd`."""
        return {
            "LD_LIBRARY_PATH": str(self.programs),
            "PROTOCOL": "IMAP",
            "IMAPLOGINTAG": login.tag,
            "AUTHENTICATED": login.user,
            "AUTHADDR": login.user,
            "TCPREMOTEIP": LOOPBACK,
            "TCPREMOTEPORT": "0",
            "GAM_CLIENT_ID": self.name,
            "IMAP_CAPABILITY": CAPABILITY,
            "IMAP_KEYWORDS": "1",
            "IMAP_USELOCKS": "1",
            "IMAP_IDLE_TIMEOUT": "1",
            **{name: os.environ[name] for name in ("OUTBOX", "SENDMAIL") if name in os.environ},
        }


def _do_and_exit(work: Callable[[socket.socket], None], connection: socket.socket) -> None:
    """The life of a child process; what goes wrong there stands in the log."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        work(connection)
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(0)


if __name__ == "__main__":
    Listener(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])).serve()
