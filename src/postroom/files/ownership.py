"""What root makes in somebody's home belongs to them, as SQLite does with what it makes beside a database: one command
that root runs there must not keep the user's own server from working."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def give_to_owner_of(place: Path, descriptor: int) -> None:
    """The open file, to whom the file or folder at `place` belongs."""
    if os.geteuid() == 0:
        with suppress(OSError):  # some file systems let nobody do that
            owner = place.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
