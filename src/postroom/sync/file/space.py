"""A mirror can always be fetched again, so it leaves the last of its disk to what cannot: on the same one are
sends, drafts, and the handles that every listing notes."""

from __future__ import annotations

import shutil
from pathlib import Path

from postroom.model.errors import ProviderUnavailable

RESERVE = 64 * 2**20
BLOCK = 32 * 2**20  # bytes of messages that are written at once
GROWTH = 4  # bytes for each of a text: itself and its words in the index, in SQLite's log and from there in the file


def check(path: Path, needed: int = 0) -> None:
    """Before so many bytes are written to a mirror's file. Some file systems do not tell what is free."""
    try:
        disk = shutil.disk_usage(path.parent)
    except OSError:  # whoever writes to it is told why
        return
    if disk.total and disk.free < RESERVE + needed:
        wanted = -(-(RESERVE + needed) // 2**20)
        most = (RESERVE + GROWTH * BLOCK) // 2**20
        raise ProviderUnavailable(
            f"The disk of the mirror {path.stem} is almost full: {disk.free // 2**20} MB are free, and"
            f" {wanted} MB are needed to continue, up to {most} MB where messages are large."
            f" The last {RESERVE // 2**20} MB are reserved for sends, drafts and ids. Ask the operator to free"
            " space; what is in the mirror is kept.",
            details={"file": str(path)},
        )
