"""The messages' own bytes: stored exactly as received, compressed where that pays off."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from postroom.index.packing import Packed, pack, unpacked
from postroom.index.rows import chunks, marks
from postroom.index.words import storable
from postroom.index.writing import gone

__all__ = ["Packed", "content", "contents", "discard", "exchange", "is_kept", "keep", "pack"]


def keep(connection: sqlite3.Connection, packed: Packed) -> str:
    """Returns the new message's ref."""
    row = connection.execute(
        "INSERT INTO raw (digest, packed, content) VALUES (?, ?, ?)",
        (packed.digest, packed.is_compressed, packed.content),
    )
    return str(row.lastrowid)


def exchange(connection: sqlite3.Connection, ref: str, packed: Packed) -> None:
    connection.execute(
        "UPDATE raw SET digest = ?, packed = ?, content = ? WHERE number = ?",
        (packed.digest, packed.is_compressed, packed.content, int(ref)),
    )


def discard(connection: sqlite3.Connection, ref: str) -> None:
    connection.execute("DELETE FROM raw WHERE number = ?", (int(ref),))


def content(connection: sqlite3.Connection, ref: str) -> bytes:
    row = connection.execute(
        "SELECT packed, content FROM raw WHERE number = (SELECT CAST(ref AS INTEGER) FROM mail WHERE ref = ?)",
        (storable(ref),),
    ).fetchone()
    if row is None:
        raise gone()
    return unpacked(row[0], row[1])


def contents(connection: sqlite3.Connection, refs: Sequence[str]) -> dict[str, bytes]:
    """By ref; messages that are gone are absent."""
    found: dict[str, bytes] = {}
    for chunk in chunks(refs):
        rows = connection.execute(
            f"SELECT ref, packed, content FROM mail JOIN raw ON raw.number = CAST(ref AS INTEGER) "  # noqa: S608
            f"WHERE ref IN ({marks(chunk)})",
            chunk,
        )
        found.update((ref, unpacked(packed, content)) for ref, packed, content in rows)
    return found


def is_kept(connection: sqlite3.Connection, packed: Packed) -> bool:
    """Whether a message with exactly these bytes is stored."""
    return connection.execute("SELECT 1 FROM raw WHERE digest = ?", (packed.digest,)).fetchone() is not None
