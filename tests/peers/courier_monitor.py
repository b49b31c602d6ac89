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
    """As long as it asks."""
    asker.recv(1)
    asker.send(b"\0")  # either side's credentials come with a first byte
    while header := asker.recv(_PACKET.size, socket.MSG_WAITALL):
        _, version, request, kind, size = _PACKET.unpack(header)
        path = asker.recv(size, socket.MSG_WAITALL) if size else b""
        watched = kind & _KIND == _WATCH_FILE
        while watched and os.path.lexists(path):
            time.sleep(_OFTEN)
        event = _DELETED if watched else _ACKNOWLEDGED
        asker.sendall(_PACKET.pack(len(header) + size, version, request, event, size) + path)
