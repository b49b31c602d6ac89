"""Writing files that hold a person's settings and secrets: atomically, and readable only by their owner."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from postroom.files.folders import hand_over, make_private

OWNER_ONLY = 0o600


def replace(path: Path, content: bytes, *, mode: int = OWNER_ONLY) -> None:
    """No reader ever sees a partial file, and no other user can read it unless `mode` allows it."""
    draft = _written(path, content, mode)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def create(path: Path, content: bytes) -> bool:
    """False, with nothing changed, if the file already exists: of two creators exactly one wins."""
    draft = _written(path, content, OWNER_ONLY)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    _sync_folder(path.parent)
    return True


def _written(path: Path, content: bytes, mode: int) -> Path:
    make_private(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(descriptor, mode)
            hand_over(descriptor, path.parent)
            os.fsync(descriptor)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
