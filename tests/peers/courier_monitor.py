"""Stands in for the file monitor (Gamin) that `imapd` asks to be told when another session's lock is gone.

Without one, every login would look for it in vain for a second. Nothing else is ever asked of it: while a client idles,
`imapd` looks for new mail by itself.
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
import time
from contextlib import suppress

_PACKET = struct.Struct("=5H")  # length of all, version, request, what about it, length of the path that follows
_WATCH_FILE, _KIND = 1, 0xF
_DELETED, _ACKNOWLEDGED = 2, 7
_OFTEN = 0.005  # seconds between two looks


def listen_as_monitor(owner: int, name: str) -> socket.socket:
    """Where a process of that owner looks, told by GAM_CLIENT_ID to look for that name."""
    user = ""
    with suppress(KeyError):
        user = pwd.getpwuid(owner).pw_name
    monitor = socket.socket(socket.AF_UNIX)
    monitor.bind(f"\0/tmp/fam-{user}-{name}".ljust(108, "\0"))
    monitor.listen(64)
    return monitor


def tell_of_locks(asker: socket.socket) -> None:
    """As long as it asks; one that never asked leaves our first byte unread, which resets the connection."""
    asker.recv(1)
    asker.send(b"\0")  # either side's credentials come with a first byte
    locks: dict[int, bytes] = {}  # by number of the request
    with suppress(ConnectionError):
        while header := asker.recv(_PACKET.size, socket.MSG_WAITALL):
            _, version, request, kind, size = _PACKET.unpack(header)
            if kind & _KIND == _WATCH_FILE:
                lock, event = asker.recv(size, socket.MSG_WAITALL), _DELETED
                _wait_until_gone(lock)
                locks[request] = lock
            else:
                lock, event = locks.pop(request), _ACKNOWLEDGED
            asker.sendall(_PACKET.pack(len(header) + len(lock), version, request, event, len(lock)) + lock)


def _wait_until_gone(path: bytes) -> None:
    while os.path.lexists(path):
        time.sleep(_OFTEN)
