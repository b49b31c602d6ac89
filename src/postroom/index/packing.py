"""A message's bytes as a file keeps them: exactly as received, compressed where that pays off."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from hashlib import blake2b

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
