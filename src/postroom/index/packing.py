"""A message's bytes as a file keeps them: exactly as received, compressed where that pays off.

What is written is zlib's format, by the library that is several times as fast at it where there is a build of it: any
zlib reads it.
"""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from types import ModuleType

from postroom.model.by_fields import pickled_by_fields

_WORTH_COMPRESSING = 512  # bytes
_LEVEL = 1


@pickled_by_fields
@dataclass(frozen=True, slots=True)
class Packed:
    """A message's bytes, ready to be written."""

    digest: bytes
    is_compressed: bool
    content: bytes


def pack(raw: bytes) -> Packed:
    return Packed(blake2b(raw, digest_size=16).digest(), *smallest(raw))


def smallest(raw: bytes) -> tuple[bool, bytes]:
    """(whether that is compressed, the bytes)."""
    compressed = compressed_bytes(raw) if len(raw) > _WORTH_COMPRESSING else raw
    helps = len(compressed) < len(raw)
    return helps, compressed if helps else raw


def compressed_bytes(data: bytes) -> bytes:
    compressed: bytes = _fast_zlib().compress(data, _LEVEL)
    return compressed


def checksum(data: bytes) -> int:
    """Adler-32."""
    found: int = _fast_zlib().adler32(data)
    return found


@cache
def _fast_zlib() -> ModuleType:
    """Not loaded by a server that only reads."""
    try:
        from isal import isal_zlib
    except ImportError:  # there is no build of it for this system
        return zlib
    return isal_zlib


def unpacked(is_compressed: bool, content: bytes) -> bytes:
    return decompressed(content) if is_compressed else bytes(content)


def decompressed(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error:
        raise Damaged("not what was compressed") from None


class Damaged(sqlite3.DatabaseError):
    """SQLite keeps no checksums: what it hands out may still not be what was written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
