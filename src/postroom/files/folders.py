"""Private folders, and folders opened without following a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from postroom.model.errors import PermissionDenied

_OTHERS_MAY_WRITE = 0o022
_TO_PASS = getattr(os, "O_PATH", os.O_RDONLY)  # enough for folders that may be traversed but not listed


def make_private(folder: Path) -> None:
    """Create the folder and its missing parents, accessible to the owner only. Existing ones are not changed."""
    missing = [folder]
    while not (parent := missing[-1].parent).exists() and parent != missing[-1]:
        missing.append(parent)
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)  # with pathlib's `parents` the parents would get the umask's mode
        except FileExistsError:
            if not path.is_dir():
                raise
        else:
            _hand_over_new(path)


def hand_over(made: int | Path, place: Path) -> None:
    """What root has made in another user's folder, or beside their file, is theirs, as with SQLite's files: a service
    that runs as that user could not read it otherwise."""
    if os.geteuid() == 0:
        with suppress(OSError):  # some file systems let nobody do that
            owner = place.stat()
            os.chown(made, owner.st_uid, owner.st_gid, follow_symlinks=isinstance(made, int))


def _hand_over_new(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        hand_over(descriptor, folder.parent)
    finally:
        os.close(descriptor)


@contextmanager
def opened_folder(root: Path, *below: str, check: Callable[[int, str], None] | None = None) -> Iterator[int]:
    """A descriptor of a folder below `root`. Links in the path to `root` are followed, those below it are not.

    `check` is given each folder from `root` down, by descriptor and name.
    """
    flags = (os.O_RDONLY if check else _TO_PASS) | os.O_DIRECTORY | os.O_CLOEXEC
    with ExitStack() as opened:
        descriptor, name = os.open(root, flags), root.name
        for inner in (*below, ""):
            opened.callback(os.close, descriptor)
            if check:
                check(descriptor, name)
            if inner:
                descriptor, name = os.open(inner, flags | os.O_NOFOLLOW, dir_fd=descriptor), inner
        yield descriptor


def keep_others_from_writing(folder: int, shown: str) -> None:
    """Remove write permission for other users. PermissionDenied if that fails or the folder is another user's."""
    state = os.fstat(folder)
    if state.st_mode & _OTHERS_MAY_WRITE:
        with suppress(OSError):
            os.fchmod(folder, stat.S_IMODE(state.st_mode) & ~_OTHERS_MAY_WRITE)
        state = os.fstat(folder)
    if state.st_uid != os.geteuid():
        raise PermissionDenied(f"The folder {shown} belongs to another user. Its contents are ignored.")
    if state.st_mode & _OTHERS_MAY_WRITE:  # some file systems have no modes
        raise PermissionDenied(f"Other users can write to the folder {shown}. Its contents are ignored.")
