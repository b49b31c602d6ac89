"""The mails' own bytes: kept exactly as they came, compressed where that pays."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass
from hashlib import blake2b

from postroom.index.words import storable
from postroom.index.writing import gone

_WORTH_COMPRESSING = 512  # bytes


@dataclass(frozen=True, slots=True)
class Packed:
    """A mail's bytes, ready to be written."""

    digest: bytes
    is_compressed: bool
    content: bytes


def pack(raw: bytes) -> Packed:
    compressed = zlib.compress(raw, 1) if len(raw) > _WORTH_COMPRESSING else raw
    helps = len(compressed) < len(raw)
    return Packed(blake2b(raw, digest_size=16).digest(), helps, compressed if helps else raw)


def keep(connection: sqlite3.Connection, packed: Packed) -> str:
    """Answers the new mail's ref."""
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
    return zlib.decompress(row[1]) if row[0] else bytes(row[1])


def is_kept(connection: sqlite3.Connection, packed: Packed) -> bool:
    """Whether a mail of exactly these bytes is there."""
    return connection.execute("SELECT 1 FROM raw WHERE digest = ?", (packed.digest,)).fetchone() is not None
