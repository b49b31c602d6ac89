"""The mails' own bytes: kept exactly as they came, compressed where that pays."""

from __future__ import annotations

import sqlite3
import zlib
from hashlib import blake2b

from postroom.index.words import storable
from postroom.index.writing import gone

_WORTH_PACKING = 512  # bytes


def keep(connection: sqlite3.Connection, raw: bytes) -> str:
    """Answers the new mail's ref."""
    row = connection.execute("INSERT INTO raw (digest, packed, content) VALUES (?, ?, ?)", _row(raw))
    return str(row.lastrowid)


def exchange(connection: sqlite3.Connection, ref: str, raw: bytes) -> None:
    connection.execute("UPDATE raw SET digest = ?, packed = ?, content = ? WHERE number = ?", (*_row(raw), int(ref)))


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


def is_kept(connection: sqlite3.Connection, raw: bytes) -> bool:
    """Whether a mail of exactly these bytes is there."""
    return connection.execute("SELECT 1 FROM raw WHERE digest = ?", (_digest(raw),)).fetchone() is not None


def _row(raw: bytes) -> tuple[bytes, bool, bytes]:
    packed = zlib.compress(raw, 1) if len(raw) > _WORTH_PACKING else raw
    helps = len(packed) < len(raw)
    return _digest(raw), helps, packed if helps else raw


def _digest(raw: bytes) -> bytes:
    return blake2b(raw, digest_size=16).digest()
