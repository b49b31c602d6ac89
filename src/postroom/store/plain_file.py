"""Reading a file that somebody else named: no last-moment link, no pipe that blocks, no device, no endless file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from postroom.model.errors import PermissionDenied


def read_plain(path: Path, shown: str, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """Up to `max_bytes` + 1 bytes (the one more tells that it is too large) and what the file is."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise PermissionDenied(f"{shown} cannot be read ({os.strerror(error.errno or 0)}).") from None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise PermissionDenied(f"{shown} is not a plain file.")
        chunks, left = [], max_bytes + 1
        while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks), state
    finally:
        os.close(descriptor)
