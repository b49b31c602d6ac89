"""Reading a file that somebody else named: no links in its path, no pipe that blocks, no device, no endless file.

Every step starts from the descriptor of the previous one, so that nobody can swap a folder for a link between the
check of a path and its opening.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from postroom.files.database_file import is_in_use
from postroom.files.folders import opened_folder
from postroom.model.errors import PermissionDenied

_EXCHANGED = (errno.ELOOP, errno.ENOTDIR)


def read_below(root: Path, path: Sequence[str], shown: str, max_bytes: int) -> bytes:
    """The file at `path`, a sequence of names, below `root`; see `read_from`."""
    try:
        with opened_folder(root, *path[:-1]) as folder:
            return read_from(folder, path[-1], shown, max_bytes)[0]
    except OSError as error:
        raise _unreadable(shown, error) from None


def read_from(folder: int, name: str, shown: str, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """Up to `max_bytes` + 1 bytes (the extra byte shows that it is too large) and the file's stat result."""
    try:
        _check(os.stat(name, dir_fd=folder, follow_symlinks=False), shown)
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise _unreadable(shown, error) from None
    state = os.fstat(descriptor)
    try:
        _check(state, shown)
        return _bytes_of(descriptor, max_bytes), state
    finally:
        if not is_in_use(state):  # swapped in after the check: closing it would drop SQLite's locks
            os.close(descriptor)


def _check(state: os.stat_result, shown: str) -> None:
    if stat.S_ISLNK(state.st_mode):
        raise PermissionDenied(f"{shown} is a symbolic link. Name the file itself.")
    if not stat.S_ISREG(state.st_mode):
        raise PermissionDenied(f"{shown} is not a regular file.")
    if is_in_use(state):
        raise PermissionDenied(f"{shown} is one of Postroom's own database files. Nothing else may open it.")


def _bytes_of(descriptor: int, max_bytes: int) -> bytes:
    chunks, left = [], max_bytes + 1
    while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _unreadable(shown: str, error: OSError) -> PermissionDenied:
    if error.errno in _EXCHANGED:
        return PermissionDenied(f"The path to {shown} changed while it was opened, or contains a link. Try again.")
    return PermissionDenied(f"{shown} cannot be read ({os.strerror(error.errno or 0)}).")
