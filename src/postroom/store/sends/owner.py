"""Who works on a send: a name per open store, alive exactly as long as its lock file is locked.

The kernel drops the lock when the process ends, however it ends, and names are never used twice, so that neither a
crash nor a reused process id can make a dead owner look alive.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import weakref
from contextlib import suppress
from pathlib import Path

from postroom.files.ownership import give_to_owner_of

_OPEN: weakref.WeakSet[Owner] = weakref.WeakSet()


class Owner:
    """This store's own name, and the question whether another one is still there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        self._sweep()
        self._descriptor: int | None
        self.name, self._descriptor = self._enlist()
        _OPEN.add(self)

    def is_alive(self, name: str) -> bool:
        """False for certain: the name's process ended or closed its store. True also when in doubt."""
        try:
            descriptor = os.open(self._folder / name, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            return not _lock(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            (self._folder / self.name).unlink(missing_ok=True)
            self.disown()

    def disown(self) -> None:
        """Let go of the lock's descriptor; in a forked child the parent's lock stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _enlist(self) -> tuple[str, int]:
        while True:
            name = secrets.token_hex(8)
            descriptor = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            give_to_owner_of(self._folder, descriptor)
            if _lock(descriptor) and os.fstat(descriptor).st_nlink:
                return name, descriptor
            os.close(descriptor)  # swept away by another process before it was locked

    def _sweep(self) -> None:
        """Remove the lock files of the dead: without a file they are just as dead.

        Each is removed under its own lock, so that a file just made is either kept or seen to be gone by its maker.
        """
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                descriptor = os.open(path, os.O_RDWR)
                if _lock(descriptor):
                    path.unlink()
                os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _after_fork() -> None:
    """A child must not keep its parent's lock held after the parent has died."""
    for owner in list(_OPEN):
        owner.disown()


os.register_at_fork(after_in_child=_after_fork)
