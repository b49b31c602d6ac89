"""A file that one thread of one process has locked at a time. The kernel drops the lock when the process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postroom.files.folders import hand_over, make_private
from postroom.model.errors import InternalError

_POLL = 0.02  # seconds between two looks at a lock that somebody else holds


@contextmanager
def locked(path: Path, *, patience: float) -> Iterator[None]:
    """TimeoutError where it was not free within that many seconds. The file stays: whoever waits for it has it open."""
    descriptor = _opened(path)
    try:
        _wait(descriptor, time.monotonic() + patience)
        yield
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        make_private(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        hand_over(descriptor, path.parent)
    except OSError as error:
        raise InternalError(
            f"The lock {path.parent.name}/{path.name} in the home folder cannot be used ({error.strerror}). Nothing "
            "was changed. Ask the operator to check whom it belongs to."
        ) from error
    return descriptor


def _wait(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError from None
            time.sleep(_POLL)
        else:
            return
