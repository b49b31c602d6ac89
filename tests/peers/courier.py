"""A Courier IMAP of our own: its real `imapd`, one process per login, on Maildirs it can share with a Dovecot.

It speaks UTF8=ACCEPT, which Dovecot does not, and lacks much that Dovecot has (MOVE, ESEARCH, SPECIAL-USE). Its package
cannot be installed beside Dovecot's, so its files lie unpacked in ``.peers`` and nothing of them is set up.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.daemon import LOOPBACK, free_ports, require, wait_for_listener
from tests.peers.dovecot import DOMAIN, MAIL_OWNER

_PROJECT = Path(__file__).parents[2]
_UNPACKED = _PROJECT / ".peers" / "courier"
_FOLDERS = (".", ".Drafts", ".Sent", ".Trash", ".Junk", ".Archive")


def missing_courier() -> str | None:
    """Why it cannot be started here, in words; None when it can."""
    if not (_UNPACKED / "usr/bin/imapd").exists():
        return "Courier IMAP is not unpacked in .peers/courier (make peers does that on Debian)"
    return None if os.geteuid() == 0 else "Courier IMAP can only be started by root"


@dataclass(slots=True)
class Courier:
    """A running server. A new user logs in with PASSWORD and finds the usual folders, empty."""

    home: Path
    mail: Path
    imap: int
    host: str = LOOPBACK
    outbox: str = ""  # what is put into this folder is given to the program `sendmail`, which keeps it
    _users: Iterator[int] = field(default_factory=itertools.count)
    _listener: subprocess.Popen[bytes] | None = None

    def new_user(self, name: str = "user") -> str:
        user = f"{name}{next(self._users)}-{os.getpid()}@{DOMAIN}"
        for folder, part in itertools.product(_FOLDERS, ("cur", "new", "tmp")):
            (self.maildir(user) / folder / part).mkdir(parents=True)
        for path in (self.mail / user, *(self.mail / user).rglob("*")):
            os.chown(path, MAIL_OWNER, MAIL_OWNER)
        return user

    def maildir(self, user: str) -> Path:
        return self.mail / user / "Maildir"

    def left(self) -> list[str]:
        """What `sendmail` was given."""
        return [path.read_text() for path in sorted((self.home / "left").iterdir())]

    def start(self) -> None:
        arguments = (str(self.imap), str(self.mail), str(self.home / "programs"))
        with (self.home / "courier.log").open("ab") as log:
            self._listener = subprocess.Popen(
                [sys.executable, "-m", "tests.peers.courier_login", *arguments],
                cwd=_PROJECT,
                env=os.environ | self._sending(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for_listener(self.imap, self.home / "courier.log")

    def _sending(self) -> dict[str, str]:
        return {"OUTBOX": self.outbox, "SENDMAIL": str(self.home / "sendmail")} if self.outbox else {}

    def kill(self) -> None:
        """The listener and every session, in the middle of whatever they do. It can be started again."""
        if self._listener is not None:
            os.killpg(self._listener.pid, signal.SIGKILL)
            self._listener.wait(10)
            self._listener = None
            _wait_for_silence(self.imap)


def _wait_for_silence(port: int, seconds: float = 10) -> None:
    """A child that is still dying may hold the port a moment longer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)


@contextmanager
def running_courier(mail: Path | None = None, outbox: str = "") -> Iterator[Courier]:
    """Start one, wait until it listens, stop it. `mail` holds a folder per user; without one it has its own."""
    require(missing_courier())
    home = Path(tempfile.mkdtemp(prefix="postroom-courier-"))
    server = Courier(home, mail or home / "mail", free_ports(1)[0], outbox=outbox)
    try:
        _furnish(server)
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(home, ignore_errors=True)


def _furnish(server: Courier) -> None:
    """The programs are copied: whoever they run as may not be allowed to look into the project's folder."""
    server.home.chmod(0o755)
    server.mail.mkdir(exist_ok=True)
    (server.home / "programs").mkdir()
    for path in (_UNPACKED / "usr/bin/imapd", *_UNPACKED.glob("usr/lib/**/lib*.so.*")):
        shutil.copy(path, server.home / "programs")
    left, sendmail = server.home / "left", server.home / "sendmail"
    left.mkdir()
    os.chown(left, MAIL_OWNER, MAIL_OWNER)
    sendmail.write_text(f"#!/bin/sh\nexec cat > {left}/$$\n")
    sendmail.chmod(0o755)
