"""Writing files that hold a person's settings and secrets: whole or not at all, and for their owner's eyes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from postroom.files.folders import make_private

OWNER_ONLY = 0o600


def replace(path: Path, content: bytes, *, mode: int = OWNER_ONLY) -> None:
    """Nobody ever sees half of it, and nobody else sees any of it unless `mode` says so."""
    draft = _written(path, content, mode)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def create(path: Path, content: bytes) -> bool:
    """False, and nothing changed, where the file exists already: of two creators exactly one wins."""
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
