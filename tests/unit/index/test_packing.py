from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator

import pytest

from postroom.index import packing

RAW = b"Subject: The same words\r\n\r\n" + b"again and again " * 200


@pytest.fixture
def _without_isal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("isal", "isal.isal_zlib"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    packing._fast_zlib.cache_clear()
    yield
    packing._fast_zlib.cache_clear()


@pytest.mark.usefixtures("_without_isal")
def test_where_the_faster_library_is_missing_zlib_packs() -> None:
    packed = packing.pack(RAW)
    assert packed.content == zlib.compress(RAW, 1)
    assert packing.unpacked(packed.is_compressed, packed.content) == RAW


def test_what_the_faster_library_packed_is_read_by_zlib_alone() -> None:
    pytest.importorskip("isal", reason="there is no build of isal for this processor")
    is_compressed, content = packing.smallest(RAW)
    assert is_compressed
    assert content != zlib.compress(RAW, 1), "zlib itself packed it"
    assert zlib.decompress(content) == RAW


@pytest.mark.parametrize("raw", [b"", RAW, bytes(range(256)) * 80], ids=["empty", "words", "any byte"])
def test_the_checksum_is_the_same_with_either_library(raw: bytes) -> None:
    assert packing.checksum(raw) == zlib.adler32(raw)


@pytest.mark.parametrize("raw", [b"", b"a" * 512, bytes(range(256)) * 2], ids=["empty", "short", "any byte"])
def test_few_bytes_are_kept_as_they_are(raw: bytes) -> None:
    assert packing.smallest(raw) == (False, raw)
