"""The messages' own bytes: stored exactly as received, compressed where that pays off."""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from postroom.index.rows import chunks, marks
from postroom.index.words import storable
from postroom.index.writing import gone
from postroom.model.by_fields import pickled_by_fields

_WORTH_COMPRESSING = 512  # bytes
_SAMPLE = 1024  # bytes in the middle of a message that show what most of it is
_BASE64 = re.compile(rb"[A-Za-z0-9+/\r\n]{1024}")


@pickled_by_fields
@dataclass(frozen=True, slots=True)
class Packed:
    """A message's bytes, ready to be written."""

    digest: bytes
    is_compressed: bool
    content: bytes


def pack(raw: bytes) -> Packed:
    compressed = _compressed(raw) if len(raw) > _WORTH_COMPRESSING else raw
    helps = len(compressed) < len(raw)
    return Packed(blake2b(raw, digest_size=16).digest(), helps, compressed if helps else raw)


def _compressed(raw: bytes) -> bytes:
    middle = len(raw) // 2
    # An attachment in base64 has no repetitions: searching for them takes four times as long and gains nothing.
    if _BASE64.fullmatch(raw, middle, middle + _SAMPLE):
        packer = zlib.compressobj(1, strategy=zlib.Z_HUFFMAN_ONLY)
        return packer.compress(raw) + packer.flush()
    return zlib.compress(raw, 1)


def unpacked(is_compressed: bool, content: bytes) -> bytes:
    return zlib.decompress(content) if is_compressed else bytes(content)


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
