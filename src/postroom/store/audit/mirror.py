"""The audit as JSON lines beside the approvals, one file a day, for people and for a second witness.

Lines are written under the store's write lock, so that they stand in the order of the chain whichever process writes.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from itertools import groupby
from pathlib import Path
from typing import Any

from postroom.files.folders import hand_over, make_private


def bring_up_to_date(connection: sqlite3.Connection, folder: Path, newest: int) -> None:
    """Write what the mirror lacks; it starts with the entry that first finds it. Trouble leaves it for next time."""
    row = connection.execute("SELECT seq FROM audit_mirrors WHERE folder = ?", (str(folder),)).fetchone()
    done = newest - 1 if row is None else row["seq"]
    rows = connection.execute("SELECT * FROM audit WHERE seq > ? ORDER BY seq", (done,)).fetchall()
    try:
        for date, entries in groupby(map(_merged, rows), key=lambda entry: entry["timestamp"][:10]):
            batch = list(entries)
            _append(folder / f"{date}.jsonl", "".join(f"{json.dumps(entry)}\n" for entry in batch).encode())
            done = batch[-1]["seq"]
    except OSError:
        pass  # the store has the entries, and `done` tells the next append where to go on
    connection.execute("INSERT OR REPLACE INTO audit_mirrors (folder, seq) VALUES (?, ?)", (str(folder), done))


def _merged(row: sqlite3.Row) -> dict[str, Any]:
    return {"seq": row["seq"], **json.loads(row["entry"]), "prev_hash": row["prev_hash"], "hash": row["hash"]}


def _append(path: Path, lines: bytes) -> None:
    """All of it or nothing: half a line would break every line after it."""
    make_private(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        hand_over(descriptor, path.parent)
        size = os.fstat(descriptor).st_size
        if os.write(descriptor, lines) < len(lines):
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)
